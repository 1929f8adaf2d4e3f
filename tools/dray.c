/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The `dray` command: finds the subcommand that is asked for. */
#include "config.h"

#include "tools/dray-copy-loop-private.h"
#include "tools/dray-demo-private.h"
#include "tools/dray-home-private.h"

#include <glib/gi18n.h>
#include <locale.h>
#include <string.h>

typedef struct
{
  const char *name;
  const char *summary; /* (nullable) translatable; NULL: for our own use, not listed */
  int (*run) (int argc, char *argv[]);
} Command;

static const Command commands[] = {
  { "demo", N_ ("Copy files with and without gio-dray and compare"), dray_demo_run },
  { "copy-loop", NULL, dray_copy_loop_run },
};

static void
print_usage (void)
{
  g_print ("%s\n  dray %s\n\n%s\n", _ ("Usage:"), _ ("COMMAND [OPTION…]"), _ ("Commands:"));
  for (size_t i = 0; i < G_N_ELEMENTS (commands); i++)
    if (commands[i].summary != NULL)
      g_print ("  %-10s %s\n", commands[i].name, _ (commands[i].summary));
  g_print ("\n%s\n", _ ("Each command explains its options with --help."));
}

int
main (int argc, char *argv[])
{
  g_autofree char *locale_dir = dray_home_find_locale_dir ();

  (void) setlocale (LC_ALL, "");
  (void) bindtextdomain (GETTEXT_PACKAGE, locale_dir);
  (void) bind_textdomain_codeset (GETTEXT_PACKAGE, "UTF-8");
  (void) textdomain (GETTEXT_PACKAGE);
  g_set_prgname ("dray");

  if (argc >= 2 && (strcmp (argv[1], "--help") == 0 || strcmp (argv[1], "-h") == 0))
    {
      print_usage ();
      return 0;
    }
  if (argc >= 2 && strcmp (argv[1], "--version") == 0)
    {
      g_print ("gio-dray %s\n", PACKAGE_VERSION);
      return 0;
    }
  for (size_t i = 0; argc >= 2 && i < G_N_ELEMENTS (commands); i++)
    if (strcmp (argv[1], commands[i].name) == 0)
      return commands[i].run (argc - 1, argv + 1);

  if (argc >= 2)
    /* Translators: %s is what was typed in place of a command. */
    g_printerr (_ ("dray: there is no command “%s”; see “dray --help”\n"), argv[1]);
  else
    g_printerr ("%s\n", _ ("dray: which command? See “dray --help”"));
  return 2;
}
