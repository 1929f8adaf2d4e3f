/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Builds files and folders for tests, and removes them whatever became of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/**
 * tree_remove:
 * @path: a file or folder, or nothing
 *
 * Removes all of it: folders without permissions, immutable ones, trees deeper than PATH_MAX.
 * Aborts the test program when something stays.
 */
void tree_remove (const char *path);

/**
 * tree_make_folder:
 * @path: must not exist
 * @mode: exact, whatever the umask
 */
void tree_make_folder (const char *path, mode_t mode);

/**
 * tree_fill:
 * @offset: bytes; a multiple of 8
 * @length: bytes
 *
 * Writes a pattern in which every 8 bytes are different and none are 0, so that bytes at a wrong
 * place show.
 */
void tree_fill (const char *path, uint64_t offset, uint64_t length);

/**
 * tree_write:
 * @path: created, or filled from the start
 * @size: bytes
 * @mode: exact, set last; the file's times become %TREE_ATIME and %TREE_MTIME
 */
void tree_write (const char *path, uint64_t size, mode_t mode);

/* Long ago, so that nothing that is set by the clock can be mistaken for it. */
#define TREE_ATIME ((struct timespec) { .tv_sec = 1111111111, .tv_nsec = 111111111 })
#define TREE_MTIME ((struct timespec) { .tv_sec = 1234567890, .tv_nsec = 123456789 })

/**
 * tree_set_times:
 *
 * Returns: 0 or -errno.
 */
int tree_set_times (const char *path, struct timespec atime, struct timespec mtime);

/**
 * tree_set_xattr:
 *
 * Returns: 0 or -errno.
 */
int tree_set_xattr (const char *path, const char *name, const void *value, size_t size);

/**
 * tree_set_acl:
 * @is_default: the default ACL of a folder; else the access ACL
 * @uid: a user who gets @perm (rwx bits) beside owner rw-, group r--, other ---
 *
 * Returns: 0 or -errno.
 */
int tree_set_acl (const char *path, bool is_default, uid_t uid, unsigned perm);

/**
 * tree_set_immutable:
 *
 * Returns: 0 or -errno.
 */
int tree_set_immutable (const char *path, bool immutable);
