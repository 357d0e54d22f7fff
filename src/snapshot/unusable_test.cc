#include "snapshot/unusable.h"

#include <gtest/gtest.h>

#include "base/json_archive.h"

namespace berth {
namespace {

WhyUnusable through_json(WhyUnusable why, std::string& text) {
  text = write_json(JsonLayout::compact, [&](Archive& archive) { archive.member("why", why); });
  WhyUnusable back;
  EXPECT_TRUE(read_json(text, [&](Archive& archive) { archive.member("why", back); })) << text;
  return back;
}

TEST(WhyUnusable, EachKindStandsInJsonAsItsSentenceAndComesBack) {
  for (int kind = 0; kind <= static_cast<int>(Unusable::given_to_machine); ++kind) {
    const auto wanted = static_cast<Unusable>(kind);
    if (wanted == Unusable::other) continue;
    std::string text;
    const WhyUnusable back = through_json(wanted, text);
    EXPECT_EQ(back.kind(), wanted) << text;
    EXPECT_EQ(back.empty(), wanted == Unusable::none) << text;
    EXPECT_EQ(back.english().empty(), wanted == Unusable::none) << text;
  }
}

TEST(WhyUnusable, ASentenceOfNoKindStaysAsItIs) {
  std::string text;
  const WhyUnusable back = through_json(WhyUnusable("it must be reset first, or not"), text);
  EXPECT_EQ(text, R"({"why":"it must be reset first, or not"})");
  EXPECT_EQ(back.kind(), Unusable::other);
  EXPECT_EQ(back.english(), "it must be reset first, or not");
}

// Files and other versions have these sentences: a new wording makes their kinds unknown.
TEST(WhyUnusable, ASentenceOfAnEarlierVersionHasItsKind) {
  EXPECT_EQ(WhyUnusable("it does not answer"), Unusable::silent);
  EXPECT_EQ(WhyUnusable("the driver does not answer for it"), Unusable::unanswered);
  EXPECT_EQ(WhyUnusable("it sleeps, and was not woken up to be asked"), Unusable::asleep);
  EXPECT_EQ(WhyUnusable("no kernel driver is bound to it"), Unusable::no_driver);
  EXPECT_EQ(WhyUnusable("NVIDIA's library does not answer"), Unusable::library_silent);
  EXPECT_EQ(WhyUnusable("it must be reset first"), Unusable::must_be_reset);
  EXPECT_EQ(WhyUnusable("the driver lists it no longer"), Unusable::unlisted);
  EXPECT_EQ(WhyUnusable("given to a virtual machine (vfio-pci)"), Unusable::given_to_machine);
}

}  // namespace
}  // namespace berth
