# SPDX-License-Identifier: Apache-2.0
"""Mutants: rules of the product, each deleted by one replacement, and the tests that must notice.

(name, text, replacement, tests): `text` stands exactly once in the C files of layer/, common/ and
tools/; white space in it matches any. `tests` is a regular expression for ctest. A mutant is worth
a line here if deleting its rule would cost a user data, a crash or a wrong picture."""

MUTANTS = [
    # What lies on disk is checked before a driver sees it.
    ("header digest", "if (!header_digest_matches(data)) {", "if (!header_digest_matches(data) && 0) {",
     r"unit\.Envelope"),
    ("one content, one file", "return envelope->generation != 0 && memcmp(", "return 1 || memcmp(",
     r"unit\.Envelope"),
    ("text behind a name", "const size_t length = strnlen(ret_text, STRING_SIZE - 1);",
     "const size_t length = STRING_SIZE - 1;", r"unit\.Envelope"),
    ("payload digest",
     "if (!digest_equal(digest_of(envelope.blob, envelope.blob_size), envelope.blob_digest)) {",
     "if (0) {", r"unit\.Envelope"),
    ("blob of another device",
     "if (!identity_matches_blob(&envelope.identity, envelope.blob, envelope.blob_size)) {",
     "if (0) {", r"unit\.Envelope"),
    ("whose file", "return status->st_uid == geteuid() || status->st_uid == 0;",
     "return status->st_uid != 12345;",
     r"unit\.File"),
    ("who may write the file", "return (status->st_mode & (S_IWGRP | S_IWOTH)) != 0;",
     "return status->st_mode == 0;",
     r"unit\.File"),
    ("links", "open_retrying(directory_fd, name, access | O_NOFOLLOW);",
     "open_retrying(directory_fd, name, access);",
     r"unit\.(File|Store)"),
    ("overlapping records", "overlaps = offsets[i] < end;", "overlaps = offsets[i] < end && 0;",
     r"unit\..*Recipe"),

    # Recipes that kill.
    ("entry point", "if (!find_entry_point(module, stage, &function, &known) && known) {",
     "if (!find_entry_point(module, stage, &function, &known) && 0) {", r"unit\.ShaderStage"),
    ("bindings against the layout", "const bool fits = binding && binding->descriptorCount > 0",
     "const bool fits = !binding || binding->descriptorCount > 0", r"unit\.ShaderStage"),
    ("recipes are checked before a replay",
     "if (checked != REPLAY_COMPILED) { return checked; }",
     "if (checked == REPLAY_NO_MEMORY) { return checked; }",
     r"integration\.HostileRecipes"),
    ("the second death", "return crashes->listed.deaths > DEATHS_ALLOWED;",
     "return crashes->listed.deaths > 1000;", r"unit\.RecipeCrashes|integration\.HostileRecipes"),
    ("times of others", "if (merging->limits->foreign) {", "if (0) {", r"unit\.RecipeCompact"),

    # Saves.
    ("failed merge is saved anyway", "return merged ? COMMIT_WHOLE : COMMIT_NOTHING;",
     "return (merged || 1) ? COMMIT_WHOLE : COMMIT_NOTHING;",
     r"integration\.(DeletedRules|DriverFaultTest)"),
    ("parts removed though the write failed", "if (reason == STATUS_ok) { remove_taken_parts(store);",
     "remove_taken_parts(store); if (reason == STATUS_ok) {", r"unit\.(StoreParts|DiskFaults)"),
    ("suspect part deleted", "if (reason != STATUS_quarantined && !may_be_readable_later(reason)) {",
     "if (reason != STATUS_quarantined) {", r"unit\.(StoreParts|StoreSuspect|DiskFaults)"),
    ("unreadable part deleted", "} else if (!may_be_readable_later(reason)) { add_taken_part(",
     "} else { add_taken_part(", r"unit\.(StoreParts|StoreSuspect|DiskFaults)"),
    ("fsync of the file", "(sync && !sync_fully(temporary.fd)) ||", "",
     r"unit\.DiskFaults"),
    ("fsync of the folder", "sync_fully(directory_fd);", "(void)directory_fd;",
     r"unit\.DiskFaults"),
    ("limit of file sizes", "if (!file_size_allowed(total_size(parts, count))) {",
     "if (!file_size_allowed(total_size(parts, count)) && 0) {",
     r"unit\.(File|Store|Marker|Recipe)"),

    # Descriptors that the program has closed, and got the numbers of.
    ("crash mark into another's file", "file_kept_is_ours(&crashes->file) &&", "",
     r"unit\.RecipeCrashes"),
    ("records into another's file", "if (!file_kept_is_ours(&writer->file)) {", "if (0) {",
     r"unit\..*Recipe"),
    ("another's descriptor closed", "if (file_kept_is_ours(kept)) {", "if (kept->fd >= 0) {",
     r"unit\..*(Recipe|File)"),

    # Small disks, and sandboxes that kill.
    ("room for the cache", "!leaves_reserve(writer->file.fd, bytes->size)", "0",
     r"(integration\.SmallDiskTest|unit\..*Recipe)"),
    ("recipes give way to the cache", "return reason == STATUS_disk_full && writer->listener.disk_full &&",
     "return 0 && reason == STATUS_disk_full && writer->listener.disk_full &&",
     r"integration\.SmallDiskTest"),
    ("tail of a failed write", "drop_tail(writer, bytes->size);", "", r"unit\..*Recipe"),
    ("sandbox closed", "&& now > sandbox.before;", "&& now < sandbox.before;",
     r"integration\..*Sandbox"),

    # Threads of our own, and what the driver may be asked by them.
    ("signals on our threads", "sigfillset(&blocked);", "sigemptyset(&blocked);",
     r"integration\.DeletedRules"),
    ("externally synchronized caches read beside the program",
     "!cache->externally_synchronized &&", "",
     r"integration\.(DeletedRules|.*ExternallySynchronized)"),
    ("prewarm of a driver that is called alone",
     "!policy->serialize && !atomic_load(setup->has_callback)",
     "!atomic_load(setup->has_callback)", r"integration\.DeletedRules"),
    ("prewarm beside capture tools and on device groups",
     "traits->group || traits->capture_tool) {", "(traits->group && 0)) {",
     r"integration\.DeletedRules"),

    # The end is bounded.
    ("a long compile is begun again", "if (uses[i].compile_us >= PREWARM_LONG_US) {", "if (0) {",
     r"integration\.LongCompiles"),
    ("size of unknown compiles", "const bool may = prewarm_estimate_is_short(",
     "const bool may = true || prewarm_estimate_is_short(", r"integration\.LongCompiles"),
    ("a long load is begun ahead again",
     "const bool loads = call_costs_allow(&device_cache->writer.costs, SLOW_LOAD) &&",
     "const bool loads =", r"integration\.LongCalls"),
    ("a long read is begun again",
     "cache_writer_worker_may_look(writer) && call_costs_allow(&writer->costs, SLOW_READ);",
     "cache_writer_worker_may_look(writer);", r"integration\.LongCalls"),
    ("a long read at the end",
     "if (!call_costs_allow_at_end(&writer->costs, SLOW_READ, cache_writer_unseen_ns(writer))) {",
     "if (0) {", r"integration\.LongCalls"),
    ("a long merge with other processes' files",
     "!call_costs_allow_at_end(costs, SLOW_MERGE, CALL_END_NS)) {", "false) {",
     r"integration\.LongCalls"),
    ("a long call is remembered while it goes on", "client->overdue(client);", "(void)client;",
     r"integration\.LongCalls"),
    ("the end waits for the disk", "return is_worker || worker_do(step, writer);",
     "if (!is_worker) { step(writer); } return true;", r"integration\.LongCalls"),
    ("a replay takes all samplers", "return is_within(samplers + 1, limits->max_samplers) &&",
     "return", r"(unit\.Replay|integration\.Prewarm)"),

    # What a process died of.
    ("a start that is killed without the blob", "if (first->is_page && without != CRASH_NOT_WITHOUT) {",
     "if (0) {", r"unit\.Markers"),
    ("a page's memory stays when it is closed", "        crash_forget_memory(page);\n        crash_replace_guard",
     "        munmap(page, sizeof *page);\n        crash_replace_guard", r"unit\.CrashPage"),

    # Which objects may be shared.
    ("policy deduplicate", "->deduplicate &&", "->deduplicate + 1 &&",
     r"integration\.DeletedRules"),
    ("device groups", "!traits->group &&", "", r"integration\.DeletedRules"),
    ("private data", "!traits->private_data &&", "", r"integration\..*PrivateData"),
    ("capture tools", "->deduplicate && !traits->capture_tool;", "->deduplicate;",
     r"integration\..*NotBesideCaptureTools"),
]
