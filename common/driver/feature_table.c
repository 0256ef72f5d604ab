#include "driver/feature_table.h"

const struct feature_struct *feature_struct_find(uint32_t stype)
{
    size_t low = 0;
    size_t high = feature_struct_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (feature_structs[middle].stype < stype) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < feature_struct_count && feature_structs[low].stype == stype ? &feature_structs[low]
                                                                             : NULL;
}
