/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of vfs-shims/dray-error.c: stock's code and stock's words for each failure. */
#include "config.h"
#include "vfs-shims/dray-error-private.h"

#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <string.h>

static GError *
make_error (DrayStep step, int error_number)
{
  const DrayCopyReport report = {
    .outcome = DRAY_OUTCOME_FAILED,
    .step = step,
    .error = -error_number,
  };
  GError *error = NULL;

  dray_error_set_failed (&error, &report);
  g_assert_nonnull (error);
  g_assert_true (error->domain == G_IO_ERROR);
  return error;
}

static void
test_code_and_message_follow_errno (void)
{
  static const struct
  {
    int error_number;
    GIOErrorEnum code;
  } vectors[] = {
    { EIO, G_IO_ERROR_FAILED },        { ENOSPC, G_IO_ERROR_NO_SPACE },
    { EDQUOT, G_IO_ERROR_NO_SPACE },   { EFBIG, G_IO_ERROR_FAILED },
    { EACCES, G_IO_ERROR_PERMISSION_DENIED }, { EPERM, G_IO_ERROR_PERMISSION_DENIED },
    { EROFS, G_IO_ERROR_READ_ONLY },   { ETIMEDOUT, G_IO_ERROR_TIMED_OUT },
    { EINVAL, G_IO_ERROR_INVALID_ARGUMENT }, { ESTALE, G_IO_ERROR_FAILED },
    { ENOENT, G_IO_ERROR_NOT_FOUND },
  };
  static const struct
  {
    DrayStep step;
    const char *format;
  } steps[] = {
    { DRAY_STEP_TRANSFER, "Error splicing file: %s" },
    { DRAY_STEP_CLOSE, "Error closing file: %s" },
  };

  g_test_summary ("Every step with every errno");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    for (size_t j = 0; j < G_N_ELEMENTS (steps); j++)
      {
        g_autoptr (GError) error = make_error (steps[j].step, vectors[i].error_number);
        g_autofree char *prefix = g_strndup (steps[j].format, strlen (steps[j].format) - 2);
        g_autofree char *message
          = g_strconcat (prefix, g_strerror (vectors[i].error_number), NULL);

        g_test_message ("%s", message);
        g_assert_cmpstr (error->message, ==, message);
        /* EDQUOT has a code of its own only in newer GLibs; what counts is that ours is theirs. */
        g_assert_cmpint (error->code, ==, (int) g_io_error_from_errno (vectors[i].error_number));
        if (vectors[i].error_number != EDQUOT)
          g_assert_cmpint (error->code, ==, (int) vectors[i].code);
      }
}

static void
test_never_not_supported (void)
{
  static const int vectors[] = { ENOSYS, EOPNOTSUPP, ENOTSUP };

  g_test_summary ("GIO would take it for a decline and start over");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    for (DrayStep step = DRAY_STEP_NONE; step <= DRAY_STEP_CLOSE; step++)
      {
        g_autoptr (GError) error = make_error (step, vectors[i]);

        g_assert_cmpint (error->code, !=, G_IO_ERROR_NOT_SUPPORTED);
        if (step == DRAY_STEP_CANCEL)
          continue;
        g_assert_cmpint (error->code, ==, G_IO_ERROR_FAILED);
        g_assert_nonnull (strstr (error->message, g_strerror (vectors[i])));
      }
}

static void
test_no_errno_is_not_supported_when_failed (void)
{
  g_test_summary ("All numbers that the kernel has");
  for (int number = 1; number < 134; number++)
    {
      g_autoptr (GError) error = make_error (DRAY_STEP_TRANSFER, number);

      g_assert_cmpint (error->code, !=, G_IO_ERROR_NOT_SUPPORTED);
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
    }
}

static void
test_cancel_has_stocks_words (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) stock = NULL;
  g_autoptr (GError) error = make_error (DRAY_STEP_CANCEL, ECANCELED);

  g_test_summary ("Those of g_cancellable_set_error_if_cancelled()");
  g_cancellable_cancel (cancellable);
  g_assert_true (g_cancellable_set_error_if_cancelled (cancellable, &stock));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpstr (error->message, ==, stock->message);
}

static void
test_decline_is_not_supported (void)
{
  g_test_summary ("Every reason, by its name");
  for (DrayDecline reason = DRAY_DECLINE_NONE; reason <= DRAY_N_DECLINES; reason++)
    {
      g_autoptr (GError) error = NULL;

      dray_error_set_declined (&error, reason);
      g_assert_error (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED);
      g_assert_cmpstr (error->message, ==, dray_decline_get_name (reason));
    }
}

static void
test_texts_are_in_the_gio_that_runs (void)
{
  static const char *const vectors[] = { "Error splicing file: %s", "Error closing file: %s" };
  Dl_info info;

  g_test_summary ("A text that GLib has dropped or changed would be ours alone");
  g_assert_cmpint (dladdr ((void *) g_cancellable_new, &info), !=, 0);
  g_test_message ("%s", info.dli_fname);
  g_autoptr (GError) error = NULL;
  g_autoptr (GMappedFile) library = g_mapped_file_new (info.dli_fname, FALSE, &error);
  g_assert_no_error (error);

  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    /* With its final zero: not the beginning of a longer text. */
    g_assert_nonnull (memmem (g_mapped_file_get_contents (library),
                              g_mapped_file_get_length (library), vectors[i],
                              strlen (vectors[i]) + 1));
}

/* Whether a program that does nothing of ours has GLib's messages in Japanese. */
static bool
is_translated_by_glib (void)
{
  g_autofree char *output = NULL;

  return g_spawn_command_line_sync ("gio info /nonexistent", NULL, &output, NULL, NULL) &&
         output != NULL && strstr (output, "Error") == NULL;
}

static void
test_translation_is_glibs (void)
{
  g_test_summary ("The text domain is GLib's, bound even when this is the first message of all");
  if (g_test_subprocess ())
    {
      g_assert_nonnull (setlocale (LC_ALL, ""));
      g_autoptr (GError) error = make_error (DRAY_STEP_TRANSFER, ENOSPC);

      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      g_print ("<%s>\n", error->message);
      return;
    }

  /* Where Japanese is not installed, nothing can be seen. */
  if (!g_file_test ("/usr/share/locale/ja/LC_MESSAGES/glib20.mo", G_FILE_TEST_EXISTS))
    {
      g_test_skip ("GLib's Japanese translation is not installed");
      return;
    }
  g_autofree char *language = g_strdup (g_getenv ("LANGUAGE"));
  g_autofree char *locale = g_strdup (g_getenv ("LC_ALL"));
  g_setenv ("LANGUAGE", "ja", TRUE);
  g_setenv ("LC_ALL", "C.UTF-8", TRUE);
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stdout ("*<*>*");
  /* glibc 2.41 counts C.UTF-8 as a locale without translations; GLib's own are not seen then. */
  if (!is_translated_by_glib ())
    g_test_skip ("this C library translates nothing in C.UTF-8");
  else
    g_test_trap_assert_stdout_unmatched ("*<Error splicing file*");
  if (language != NULL)
    g_setenv ("LANGUAGE", language, TRUE);
  else
    g_unsetenv ("LANGUAGE");
  if (locale != NULL)
    g_setenv ("LC_ALL", locale, TRUE);
  else
    g_unsetenv ("LC_ALL");
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/vfs-shims/error/code-and-message-follow-errno",
                   test_code_and_message_follow_errno);
  g_test_add_func ("/vfs-shims/error/never-not-supported", test_never_not_supported);
  g_test_add_func ("/vfs-shims/error/no-errno-is-not-supported-when-failed",
                   test_no_errno_is_not_supported_when_failed);
  g_test_add_func ("/vfs-shims/error/cancel-has-stocks-words", test_cancel_has_stocks_words);
  g_test_add_func ("/vfs-shims/error/decline-is-not-supported", test_decline_is_not_supported);
  g_test_add_func ("/vfs-shims/error/texts-are-in-the-gio-that-runs",
                   test_texts_are_in_the_gio_that_runs);
  g_test_add_func ("/vfs-shims/error/translation-is-glibs", test_translation_is_glibs);
  return g_test_run ();
}
