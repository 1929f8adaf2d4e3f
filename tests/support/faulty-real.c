/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The real system calls of the copy path under other names, for faulty-fd.c to stand in front of.
 */
#include "config.h"

#define dray_fd_open real_fd_open
#define dray_fd_close real_fd_close
#define dray_fd_close_both real_fd_close_both
#define dray_fd_stat real_fd_stat
#define dray_fd_filesystem_magic real_fd_filesystem_magic
#define dray_fd_filesystem_magic_at real_fd_filesystem_magic_at
#define dray_fd_read real_fd_read
#define dray_fd_write real_fd_write
#define dray_fd_copy_range real_fd_copy_range
#define dray_fd_send real_fd_send
#define dray_fd_clone real_fd_clone
#define dray_fd_seek real_fd_seek
#define dray_fd_truncate real_fd_truncate
#define dray_fd_flush_range real_fd_flush_range
#define dray_fd_set_mode real_fd_set_mode
#define dray_fd_set_owner real_fd_set_owner
#define dray_fd_set_times real_fd_set_times
#define dray_fd_list_xattrs real_fd_list_xattrs
#define dray_fd_get_xattr real_fd_get_xattr
#define dray_fd_set_xattr real_fd_set_xattr
#define dray_fd_unlink real_fd_unlink

#include "engine/dray-fd.c"
