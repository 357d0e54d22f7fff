#include "serve/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "serve/digest.h"

namespace berth::serve {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

Token token(std::string name, std::string_view secret, std::optional<uid_t> uid = 1001) {
  return {.name = std::move(name),
          .uid = uid,
          .admin = !uid,
          .created = WallTime{1000},
          .expires = std::nullopt,
          .sha256 = sha256_hex(secret)};
}

TEST(Digest, IsSha256) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Tokens, OnlyTheRightOneIsFound) {
  TokenStore store;
  ASSERT_TRUE(store.add(token("a", "secret a")));
  ASSERT_TRUE(store.add(token("b", "secret b", std::nullopt)));
  EXPECT_EQ(store.find("secret b", WallTime{2000})->name, "b");
  EXPECT_FALSE(store.find("secret c", WallTime{2000}));
  EXPECT_FALSE(store.find("", WallTime{2000}));
  EXPECT_FALSE(store.find(sha256_hex("secret a"), WallTime{2000})) << "what is kept is no token";
}

TEST(Tokens, AnExpiredOneIsNone) {
  TokenStore store;
  Token short_lived = token("a", "secret");
  short_lived.expires = WallTime{5000};
  ASSERT_TRUE(store.add(short_lived));
  EXPECT_TRUE(store.find("secret", WallTime{4999}));
  EXPECT_FALSE(store.find("secret", WallTime{5000}));
}

TEST(Tokens, NamesAreTakenOnceAndRevoked) {
  TokenStore store;
  ASSERT_TRUE(store.add(token("a", "x")));
  EXPECT_EQ(store.add(token("a", "y")).error().code(), ErrorCode::busy);
  EXPECT_EQ(store.add(token("../a", "y")).error().code(), ErrorCode::invalid);
  EXPECT_TRUE(store.revoke("a"));
  EXPECT_FALSE(store.find("x", {}));
  EXPECT_EQ(store.revoke("a").error().code(), ErrorCode::not_found);
}

TEST(Tokens, AreReadAsTheyWereWritten) {
  TokenStore store;
  Token whole = token("a", "x", std::nullopt);
  whole.expires = WallTime{99};
  ASSERT_TRUE(store.add(whole));
  ASSERT_TRUE(store.add(token("b", "y")));
  const auto again = tokens_from_json(to_json(store));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->tokens(), store.tokens());
  EXPECT_THAT(to_json(store), Not(HasSubstr("\"x\"")));
  EXPECT_THAT(public_json(store), Not(HasSubstr("sha256")));
}

class BadTokens : public testing::TestWithParam<const char*> {};
TEST_P(BadTokens, AreNotRead) { EXPECT_FALSE(tokens_from_json(GetParam())) << GetParam(); }
INSTANTIATE_TEST_SUITE_P(
    Every, BadTokens,
    testing::Values(
        "", "[]", "{}", "{\"berth_tokens\":1}", "{\"berth_tokens\":2,\"tokens\":[]}",
        "{\"berth_tokens\":1,\"tokens\":[{\"name\":\"a\"}]}",
        // The user that it stands for must not be guessed.
        "{\"berth_tokens\":1,\"tokens\":[{\"name\":\"a\",\"created_unix_ms\":1,\"sha256\":\""
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"}]}",
        "{\"berth_tokens\":1,\"tokens\":[{\"name\":\"a\",\"uid\":1,\"created_unix_ms\":1,"
        "\"expires_unix_ms\":\"never\",\"sha256\":\""
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"}]}"));

TEST(TokenFile, ThatOthersCanReadIsNotUsed) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/tokens";
  EXPECT_TRUE(load_tokens(path)->tokens().empty()) << "an absent file is no mistake";
  TokenStore store;
  ASSERT_TRUE(store.add(token("a", "x")));
  ASSERT_TRUE(save_tokens(path, store));
  EXPECT_EQ(load_tokens(path)->tokens().size(), 1U);
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  EXPECT_EQ(load_tokens(path).error().code(), ErrorCode::no_permission);
}

TEST(Secret, IsNeverTheSame) {
  const auto one = make_secret();
  ASSERT_TRUE(one);
  EXPECT_EQ(one->size(), std::string("berth_").size() + 43);
  EXPECT_NE(*one, *make_secret());
}

TEST(WrongTokens, AreSlowedDownPerAddress) {
  WrongTokens wrong;
  FakeClock clock;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(wrong.note("10.0.0.1", clock.now())) << i;
  const auto wait = wrong.note("10.0.0.1", clock.now());
  ASSERT_TRUE(wait);
  EXPECT_EQ(*wait, Duration(1min));
  EXPECT_FALSE(wrong.note("10.0.0.2", clock.now())) << "another address is not to blame";
  clock.advance(61s);
  EXPECT_FALSE(wrong.note("10.0.0.1", clock.now()));
}

}  // namespace
}  // namespace berth::serve
