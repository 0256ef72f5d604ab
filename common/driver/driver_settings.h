// SPDX-License-Identifier: Apache-2.0
/* Settings of drivers that Vulkan does not know and that shape what they compile: variables of a
 * process (RADV_PERFTEST, for example), and the program's name, for which Mesa has options of its
 * own (driconf). No identity tells them, so a program's are kept (program.json), and `warmpipe
 * warm` replays its recipes with them (docs/decisions/0180).
 *
 * As text: "NAME=VALUE", a semicolon between two, in the order of the table; "": not known. */
#ifndef WARMPIPE_DRIVER_DRIVER_SETTINGS_H
#define WARMPIPE_DRIVER_DRIVER_SETTINGS_H

#include <stdbool.h>

#define DRIVER_SETTINGS_SIZE 512 /* with the 0 at its end */

/* Those of this process; "" where they cannot be told: one is too long, or has a character that
 * ends a text. Thread-safe, as long as nobody changes the environment. */
void driver_settings_of_process(char ret_text[DRIVER_SETTINGS_SIZE]);

/* Whether those of this process are others than those of the text, which may hold anything. ""
 * differs from nothing. */
bool driver_settings_differ(const char *text);

/* Makes those of the text this process's own, the name too; variables that the text does not name
 * are removed. Of "" a no-op. Names that are not in the table are passed over. One thread alone,
 * before it loads a driver: some
 * read their settings but once. */
void driver_settings_use(const char *text);

#endif
