#include "top/input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::top {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Key key(Key::Name name) { return Key{.name = name, .text = {}}; }
Key letter(std::string text) { return Key{.name = Key::Name::character, .text = std::move(text)}; }

/// Everything that a person could have done, one after the other, and what it means.
const std::string all_bytes =
    "a\033[A\033[5~\033[<0;12;7M\033[<64;3;4M\033OB\xE4\xB8\xAD\r\033[200~rm -rf k "
    "y\033[A\033[201~z"
    "\033[1;5C\033]0;title\007q\033Pabc\033\\\x7F\033[M !!\033[?1;2c\033[Zx";
const std::vector<Input> all_inputs = {letter("a"),
                                       key(Key::Name::up),
                                       key(Key::Name::page_up),
                                       Mouse{Mouse::What::press, 0, 11, 6},
                                       Mouse{Mouse::What::wheel_up, 0, 2, 3},
                                       key(Key::Name::down),
                                       letter("中"),
                                       key(Key::Name::enter),
                                       letter("z"),
                                       key(Key::Name::right),
                                       letter("q"),
                                       key(Key::Name::backspace),
                                       key(Key::Name::back_tab),
                                       letter("x")};

TEST(InputDecoder, KeysMouseAndPastesAreTold) {
  InputDecoder decoder;
  EXPECT_EQ(decoder.feed(all_bytes), all_inputs);
  EXPECT_FALSE(decoder.patience());
}

TEST(InputDecoder, CutAnywhereItTellsTheSame) {
  for (std::size_t cut = 0; cut <= all_bytes.size(); ++cut) {
    InputDecoder decoder;
    std::vector<Input> told = decoder.feed(all_bytes.substr(0, cut));
    for (Input& input : decoder.feed(all_bytes.substr(cut))) told.push_back(std::move(input));
    EXPECT_EQ(told, all_inputs) << "cut before byte " << cut;
  }
}

TEST(InputDecoder, ByteByByteItTellsTheSame) {
  InputDecoder decoder;
  std::vector<Input> told;
  for (const char byte : all_bytes) {
    for (Input& input : decoder.feed(std::string(1, byte))) told.push_back(std::move(input));
  }
  EXPECT_EQ(told, all_inputs);
}

TEST(InputDecoder, LoneEscapeIsAKeyOnceNothingFollows) {
  InputDecoder decoder;
  EXPECT_THAT(decoder.feed("\033"), IsEmpty());
  ASSERT_TRUE(decoder.patience());
  EXPECT_THAT(decoder.silence(), ElementsAre(Input(key(Key::Name::escape))));
  EXPECT_THAT(decoder.feed("q"), ElementsAre(Input(letter("q"))));
}

TEST(InputDecoder, RestOfASequenceThatNeverComesIsNoKey) {
  InputDecoder decoder;
  EXPECT_THAT(decoder.feed("\033[<0;1"), IsEmpty());
  EXPECT_THAT(decoder.silence(), IsEmpty());
  EXPECT_THAT(decoder.feed("q"), ElementsAre(Input(letter("q"))));
}

TEST(InputDecoder, PasteThatPausesIsWaitedForLonger) {
  InputDecoder decoder;
  EXPECT_THAT(decoder.feed("\033[200~k"), IsEmpty());
  EXPECT_GE(*decoder.patience(), std::chrono::seconds(1));
  EXPECT_THAT(decoder.feed("y\033[201~"), IsEmpty());
  EXPECT_FALSE(decoder.patience());
}

TEST(InputDecoder, AltWithAKeyIsNotTheKey) {
  InputDecoder decoder;
  EXPECT_THAT(decoder.feed("\033k"), IsEmpty());
}

TEST(InputDecoder, BrokenUtf8IsLeftOut) {
  InputDecoder decoder;
  EXPECT_THAT(decoder.feed("\xC3q\xFFw\xE4\xB8"),
              ElementsAre(Input(letter("q")), Input(letter("w"))));
}

TEST(InputDecoder, InvisibleCharactersAreNotTyped) {
  InputDecoder decoder;
  EXPECT_THAT(decoder.feed("\xE2\x80\xAE"), IsEmpty());  // right-to-left override
}

TEST(InputDecoder, MouseFarOutsideIsLeftOut) {
  InputDecoder decoder;
  EXPECT_THAT(decoder.feed("\033[<0;99999999999999999999;1M\033[<0;0;0M\033[<0;1M"), IsEmpty());
}

TEST(InputDecoder, EndlessSequenceIsGivenUp) {
  InputDecoder decoder;
  static_cast<void>(decoder.feed("\033[" + std::string(1000, ';')));
  EXPECT_FALSE(decoder.patience());
}

}  // namespace
}  // namespace berth::top
