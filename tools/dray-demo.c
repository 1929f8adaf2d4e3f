/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `dray demo`: makes files, has them copied with stock GIO and with gio-dray in turn, compares the
 * copies and prints how long each took. Its rules are those for measuring in CONTRIBUTING.md: in
 * turn, several rounds, medians, fresh folders that are deleted at the end. */
#include "config.h"
#include "tools/dray-demo-private.h"

#include "tools/dray-demo-files-private.h"
#include "tools/dray-demo-measure-private.h"
#include "tools/dray-table-private.h"
#include "tools/dray-workplace-private.h"

#include <gio/gio.h>
#include <glib/gi18n.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MIB ((uint64_t) 1 << 20)
/* A big file below this would only measure the start of a copy. */
#define LEAST_BIG (16 * MIB)

typedef struct
{
  gint n_files;
  gint64 size; /* bytes of the big file */
  gint n_rounds;
  char *base;   /* (owned) (nullable) */
  char *folder; /* (owned) (nullable) */
} Options;

/* --- options ---------------------------------------------------------------------------------- */

static void
clear_options (Options *options)
{
  g_free (options->base);
  g_free (options->folder);
}

static gboolean
are_sensible (const Options *options, int n_left, GError **error)
{
  if (n_left > 2)
    g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                         _ ("Only one folder can be given"));
  else if (options->n_files < 0 || options->n_files > 1000000)
    g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                         _ ("The number of files must be between 0 and 1000000"));
  else if (options->size < 0)
    g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                         _ ("The size of the big file cannot be negative"));
  else if (options->n_rounds < 1 || options->n_rounds > 99)
    g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                         _ ("The number of rounds must be between 1 and 99"));
  else if (n_left < 2 && options->n_files == 0 && options->size == 0)
    g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                         _ ("Without files and without a big file there is nothing to copy"));
  else
    return TRUE;
  return FALSE;
}

static gboolean
parse_options (int argc, char *argv[], Options *options)
{
  const GOptionEntry entries[] = {
    { "files", 'n', 0, G_OPTION_ARG_INT, &options->n_files,
      /* Translators: the number is the default. */
      N_ ("Number of small files to make; 0 for none (2000)"), N_ ("NUMBER") },
    { "size", 's', 0, G_OPTION_ARG_INT64, &options->size,
      N_ ("Bytes of the big file; 0 for none (536870912)"), N_ ("BYTES") },
    { "rounds", 'r', 0, G_OPTION_ARG_INT, &options->n_rounds,
      N_ ("How often each copy is measured (5)"), N_ ("NUMBER") },
    { "in", 'i', 0, G_OPTION_ARG_FILENAME, &options->base,
      N_ ("Where to make the temporary folder; this chooses the file system that is measured"),
      N_ ("PLACE") },
    { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL }
  };
  g_autoptr (GOptionContext) context = g_option_context_new (_ ("[FOLDER]"));
  g_autoptr (GError) error = NULL;

  g_set_prgname ("dray demo");
  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
  g_option_context_set_summary (
    context, _ ("Copies many small files and a big one with stock GIO and with gio-dray, compares "
                "the copies and shows how long each took. With FOLDER its files are copied in "
                "place of made ones. Everything happens in a temporary folder, which is removed. "
                "As root, also with cold caches."));
  if (g_option_context_parse (context, &argc, &argv, &error) &&
      are_sensible (options, argc, &error))
    {
      if (argc == 2)
        options->folder = g_canonicalize_filename (argv[1], NULL);
      return TRUE;
    }

  g_printerr ("dray demo: %s\n%s\n", error->message,
              _ ("“dray demo --help” lists the options."));
  return FALSE;
}

/* --- preparing -------------------------------------------------------------------------------- */

static void
print_machine (const char *workplace)
{
  g_autoptr (GFile) file = g_file_new_for_path (workplace);
  g_autoptr (GFileInfo) info
    = g_file_query_filesystem_info (file, G_FILE_ATTRIBUTE_FILESYSTEM_TYPE, NULL, NULL);
  const char *type
    = info == NULL ? NULL
                   : g_file_info_get_attribute_string (info, G_FILE_ATTRIBUTE_FILESYSTEM_TYPE);
  struct utsname names = { 0 };

  (void) uname (&names);
  g_print ("gio-dray %s · GLib %u.%u.%u · Linux %s · ", PACKAGE_VERSION, glib_major_version,
           glib_minor_version, glib_micro_version, names.release);
  g_print (ngettext ("%u core", "%u cores", g_get_num_processors ()), g_get_num_processors ());
  g_print (" · %s\n", type != NULL ? type : _ ("unknown file system"));
}

static gboolean
check_folder (const char *folder, GError **error)
{
  g_autoptr (GDir) opened = g_dir_open (folder, 0, error);

  return opened != NULL;
}

/* A size that this disk has room for and that stays in memory, so that "warm" is true. */
static uint64_t
fit_big (uint64_t wanted, uint64_t room)
{
  const uint64_t memory = (uint64_t) sysconf (_SC_PHYS_PAGES) * (uint64_t) sysconf (_SC_PAGESIZE);
  /* The source and two copies to compare, and the disk is not to be filled. */
  const uint64_t most = MIN (room / 4, memory / 4) / MIB * MIB;

  return MIN (wanted, most);
}

static gboolean
prepare_small (const Options *options, const char *workplace, char **out_source, GError **error)
{
  g_autofree char *source = NULL;

  if (options->folder != NULL)
    {
      *out_source = g_strdup (options->folder);
      return TRUE;
    }
  if (options->n_files == 0)
    return TRUE;
  source = dray_workplace_make_folder (workplace, "small", error);
  if (source == NULL ||
      !dray_demo_files_make_small (source, (guint) options->n_files, error))
    return FALSE;
  *out_source = g_steal_pointer (&source);
  return TRUE;
}

/* Also sees to it that all copies of the small files, which are kept to the end, find room. */
static gboolean
prepare_big (const Options *options, const char *workplace, const char *small, char **out_source,
             GError **error)
{
  const uint64_t n_copies = 2 + 4 * (uint64_t) options->n_rounds;
  const uint64_t needed = small == NULL ? 0 : n_copies * dray_demo_files_measure_used (small);
  const uint64_t room = dray_demo_files_measure_free (workplace);
  g_autofree char *source = NULL;

  if (needed > room / 10 * 9)
    {
      g_autofree char *needed_text = g_format_size (needed);
      g_autofree char *room_text = g_format_size (room);

      g_set_error (error, G_IO_ERROR, G_IO_ERROR_NO_SPACE,
                   /* Translators: both %s are sizes such as “3.2 GB”. */
                   _ ("The copies would need %s, but only %s are free; take fewer files or "
                      "rounds, or another place with --in"),
                   needed_text, room_text);
      return FALSE;
    }
  if (options->size == 0)
    return TRUE;

  const uint64_t size = fit_big ((uint64_t) options->size, room - needed);
  if (size < (uint64_t) options->size)
    {
      g_autofree char *text = g_format_size_full (size, G_FORMAT_SIZE_IEC_UNITS);

      if (size < LEAST_BIG)
        {
          g_print ("%s\n", _ ("There is no room for a big file; it is left out."));
          return TRUE;
        }
      /* Translators: %s is a size such as “100.0 MiB”. */
      g_print (_ ("Disk or memory is short: the big file has only %s."), text);
      g_print ("\n");
    }
  source = dray_workplace_make_folder (workplace, "big", error);
  if (source == NULL || !dray_demo_files_make_big (source, size, error))
    return FALSE;
  *out_source = g_steal_pointer (&source);
  return TRUE;
}

/* --- the whole -------------------------------------------------------------------------------- */

static gboolean
measure_all (const Options *options, const char *workplace, GError **error)
{
  g_autofree char *small = NULL, *big = NULL;
  g_autoptr (GPtrArray) rows = dray_demo_measure_make_table ();
  DrayDemoVerdict verdict = { 0 };
  gboolean good;

  print_machine (workplace);
  /* Translators: %s is a folder's path. */
  g_print (_ ("Copying in %s …"), workplace);
  g_print ("\n");
  good = prepare_small (options, workplace, &small, error) &&
         prepare_big (options, workplace, small, &big, error);

  DrayDemoWorkload workload = { .workplace = workplace, .n_rounds = (guint) options->n_rounds };
  if (good && small != NULL)
    {
      workload.name = options->folder != NULL ? _ ("your files") : _ ("small files");
      workload.tag = "small";
      workload.source = small;
      good = dray_demo_measure_run (&workload, rows, &verdict, error);
    }
  if (good && big != NULL)
    {
      workload.name = _ ("big file");
      workload.tag = "big";
      workload.source = big;
      /* One file more or less is nothing that the file system would stumble over. */
      workload.remove_copies = TRUE;
      good = dray_demo_measure_run (&workload, rows, &verdict, error);
    }

  if (good)
    {
      g_print ("\n");
      dray_table_print (rows, 3);
      g_print ("\n");
      dray_demo_measure_print_verdict (&verdict);
      good = dray_demo_measure_judge (&verdict, error);
    }
  dray_demo_measure_clear_verdict (&verdict);
  return good;
}

int
dray_demo_run (int argc, char *argv[])
{
  Options options = { .n_files = 2000, .size = (gint64) (512 * MIB), .n_rounds = 5 };
  g_autoptr (GError) error = NULL;
  int status = 1;

  if (!parse_options (argc, argv, &options))
    {
      clear_options (&options);
      return 2;
    }

  g_autofree char *workplace = NULL;
  if (options.folder == NULL || check_folder (options.folder, &error))
    workplace = dray_workplace_open (options.base, &error);
  if (workplace != NULL && measure_all (&options, workplace, &error))
    status = 0;
  dray_workplace_close (workplace);
  clear_options (&options);

  if (dray_workplace_is_interrupted ())
    {
      g_printerr ("dray demo: %s\n", _ ("Interrupted"));
      return 130;
    }
  if (status != 0)
    g_printerr ("dray demo: %s\n", error->message);
  return status;
}
