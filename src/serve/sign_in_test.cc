#include "serve/sign_in.h"

#include <gtest/gtest.h>

namespace berth::serve {
namespace {

constexpr uid_t ada = 1000;
constexpr WallTime noon{1'763'690'000'000};
constexpr WallTime after(std::chrono::milliseconds time) { return {noon.unix_ms + time.count()}; }

TEST(SignIn, ALinkIsGoodForOneTokenOfItsUser) {
  SignIn sign_in;
  const auto link = sign_in.make_link(ada, noon);
  ASSERT_TRUE(link) << link.error().message();
  const auto given = sign_in.redeem(link->secret, noon);
  ASSERT_TRUE(given) << given.error().message();
  EXPECT_NE(given->secret, link->secret);
  const auto token = sign_in.sessions().find(given->secret, noon);
  ASSERT_TRUE(token);
  EXPECT_EQ(token->uid, ada);
  EXPECT_FALSE(token->admin);
  EXPECT_FALSE(sign_in.sessions().find(link->secret, noon)) << "a link is no token";
  const auto again = sign_in.redeem(link->secret, noon);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::not_found);
}

TEST(SignIn, ALinkLastsTenMinutesAndATokenADay) {
  SignIn sign_in;
  const auto old = sign_in.make_link(ada, noon);
  const auto used = sign_in.make_link(ada, noon);
  EXPECT_FALSE(sign_in.redeem(old->secret, after(std::chrono::minutes(10))));
  const auto given = sign_in.redeem(used->secret, after(std::chrono::minutes(9)));
  ASSERT_TRUE(given);
  EXPECT_TRUE(sign_in.sessions().find(given->secret, after(std::chrono::hours(24))));
  EXPECT_FALSE(sign_in.sessions().find(given->secret, after(std::chrono::hours(25))));
}

TEST(SignIn, OfManyTheOldestGo) {
  SignIn sign_in;
  const auto first = sign_in.make_link(ada, noon);
  std::string last;
  for (int i = 0; i < 64; ++i) last = sign_in.make_link(ada, noon)->secret;
  EXPECT_FALSE(sign_in.redeem(first->secret, noon));
  EXPECT_TRUE(sign_in.redeem(last, noon));
  EXPECT_FALSE(sign_in.redeem("", noon));
}

}  // namespace
}  // namespace berth::serve
