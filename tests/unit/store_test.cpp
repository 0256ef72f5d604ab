// The store's way with one process: load, commit, refuse.
#include "disk_fixture.h"
#include "store_fixture.h"

namespace {

TEST(Store, LoadsWhatWasCommitted)
{
    TemporaryFolder folder;
    {
        Store store(folder.path);
        store_blob blob;
        EXPECT_EQ(store_load(store.get(), &blob), REASON_no_file);
        EXPECT_TRUE(names_in(folder.path).empty());
        ASSERT_EQ(store.commit("first"), REASON_ok);
    }
    Store store(folder.path);
    EXPECT_EQ(store.load(), "first");
}

} // namespace
