// SPDX-License-Identifier: Apache-2.0
/* Single files of a folder of markers, for those who judge by them; the rest is in marker.h. Each
 * opens the file by its name, through the folder's descriptor, and follows no link. Failures are
 * left: what could not be noted or removed is found again by the next process. */
#ifndef WARMPIPE_BLOBS_MARKER_FOLDER_H
#define WARMPIPE_BLOBS_MARKER_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/blobs/marker.h"

/* Whether the generation is on trial (trial.h). */
bool marker_folder_tries(const struct marker_folder *folder, uint64_t generation);

/* Reads a marker or a .strike, whether its process lives or not. */
bool marker_folder_read(const struct marker_folder *folder, const char *name,
                        struct marker_record *ret_record);

/* The strike against a generation. False: there is none. */
bool marker_folder_read_failure(const struct marker_folder *folder, uint64_t generation,
                                struct marker_record *ret_record);

/* Makes the marker of a death the strike against the generation. What it counts as goes into the
 * file first. */
void marker_folder_make_failure(const struct marker_folder *folder,
                                const struct marker_record *record, uint64_t generation,
                                uint32_t deaths);

void marker_folder_remove(const struct marker_folder *folder, const struct marker_record *record);
void marker_folder_remove_failure(const struct marker_folder *folder, uint64_t generation);

/* Whether the process of the record used a blob of this generation. */
bool marker_is_about(const struct marker_record *record, uint64_t generation);

/* Notes in the strike, and for a day, that a process was killed without the blob; `without` is an
 * enum crash_without. Whether there was one within a day. */
void marker_folder_note_without(const struct marker_folder *folder, uint64_t generation,
                                uint32_t without);
bool marker_folder_killed_lately(const struct marker_folder *folder);

#endif
