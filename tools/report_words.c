#include "report_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Three digits. */
static struct report_words measure(double value, const char *unit)
{
    struct report_words words;
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(words.text, sizeof words.text, "%.*f %s", decimals, value, unit);
    return words;
}

struct report_words report_duration(uint64_t nanoseconds)
{
    const double seconds = (double)nanoseconds / 1e9;
    if (nanoseconds == 0) {
        return (struct report_words){"0"};
    }
    if (seconds >= 0.9995) {
        return measure(seconds, "s");
    }
    return seconds >= 0.9995e-3 ? measure(seconds * 1e3, "ms") : measure(seconds * 1e6, "µs");
}

struct report_words report_size(uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    if (bytes == 0) {
        return (struct report_words){"0"};
    }
    size_t unit = 0;
    while (value >= 1023.5 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    return measure(value, units[unit]);
}

struct report_words report_count(uint64_t number)
{
    char digits[24];
    struct report_words words;
    size_t used = 0;
    const int count = snprintf(digits, sizeof digits, "%" PRIu64, number);
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0) {
            words.text[used++] = ',';
        }
        words.text[used++] = digits[i];
    }
    words.text[used] = '\0';
    return words;
}

struct report_words report_percent(uint64_t part, uint64_t whole)
{
    struct report_words words = {"–"};
    if (whole > 0) {
        snprintf(words.text, sizeof words.text, "%.*f %%", part == 0 || part == whole ? 0 : 1,
                 100.0 * (double)part / (double)whole);
    }
    return words;
}
