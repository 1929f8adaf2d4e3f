/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two texts, line by line. */
#pragma once

/**
 * parity_diff:
 *
 * Returns: (transfer full): the lines of both in order, marked '-' (only in @a), '+' (only in @b)
 * or ' '
 */
char *parity_diff (const char *a, const char *b);
