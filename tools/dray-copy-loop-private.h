/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One copying pass, as a file manager makes it. */
#pragma once

/**
 * dray_copy_loop_run:
 * @argc: of `copy-loop SOURCE-FOLDER DESTINATION-FOLDER`
 * @argv: likewise
 *
 * Copies a folder's files into a folder that exists, one after the other, with g_file_copy(), a
 * progress callback and a cancellable. Folders in it are made and gone through; what is neither a
 * file, a folder nor a symbolic link is passed over. Prints the microseconds that it took and the
 * number of files. Whether our module takes part is the environment's to say.
 *
 * Returns: exit status.
 */
int dray_copy_loop_run (int argc, char *argv[]);
