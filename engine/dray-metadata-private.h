/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a copy keeps beside the bytes, set on the descriptor. */
#pragma once

#include "engine/dray-facts-private.h"

/* The xattr names of a source that a copy keeps. */
typedef struct
{
  char *names;  /* (owned) (nullable) NUL-terminated names one after the other */
  size_t size;  /* bytes of @names */
  bool user;    /* there is a `user.` name among them */
} DrayXattrs;

/**
 * dray_metadata_list_xattrs:
 * @source_fd: the open source
 * @flags: of the request
 * @out_xattrs: (out caller-allocates): always set; free with dray_metadata_clear_xattrs()
 *
 * Lists what is to be copied: `user.*`, or everything with %DRAY_COPY_ALL_METADATA. A source that
 * cannot be asked has none, as in stock.
 */
void dray_metadata_list_xattrs (int source_fd, DrayCopyFlags flags, DrayXattrs *out_xattrs);

/** dray_metadata_clear_xattrs: frees what @xattrs owns. */
void dray_metadata_clear_xattrs (DrayXattrs *xattrs);

/**
 * dray_metadata_get_create_mode:
 * @facts: of the source
 * @flags: of the request
 * @xattrs: of the source
 *
 * The mode to create a destination with. Never set-uid, set-gid or sticky while the file is
 * incomplete; writable for its owner when `user.` xattrs have to be set, which the kernel allows
 * only on a file that the caller could write to (xattr(7)).
 *
 * Pure: no system call.
 */
mode_t dray_metadata_get_create_mode (const DrayFacts *facts, DrayCopyFlags flags,
                                      const DrayXattrs *xattrs);

/**
 * dray_metadata_apply:
 * @source_fd: the open source, for the values of xattrs
 * @dest_fd: the destination, all bytes in place
 * @made_mode: permissions that @dest_fd has had since it was made
 * @facts: of the source, as it was opened
 * @flags: of the request
 * @xattrs: of the source
 *
 * Sets `user.` xattrs, owner, mode, other xattrs, times, in the one order in which none undoes
 * another: a chown() drops set-uid bits and capabilities, an ACL is set over the mode, times are
 * changed by everything. Every failure is ignored, as in stock: a copy without its owner or an
 * xattr is a copy.
 */
void dray_metadata_apply (int source_fd, int dest_fd, mode_t made_mode, const DrayFacts *facts,
                          DrayCopyFlags flags, const DrayXattrs *xattrs);
