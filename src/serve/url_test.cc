#include "serve/url.h"

#include <gmock/gmock.h>

namespace berth::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ParseUrl, TakesApartHostPortAndTarget) {
  const auto url = parse_url("https://gpu1.lab:9700/api/v1/overview?limit=2");
  ASSERT_TRUE(url) << url.error().message();
  EXPECT_EQ(*url, (Url{.kind = Url::Kind::https,
                       .host = "gpu1.lab",
                       .port = 9700,
                       .socket = {},
                       .target = "/api/v1/overview?limit=2"}));
}

TEST(ParseUrl, KnowsTheUsualPortsAndTheRoot) {
  EXPECT_EQ(parse_url("http://gpu1")->port, 80);
  EXPECT_EQ(parse_url("https://gpu1")->port, 443);
  EXPECT_EQ(parse_url("http://gpu1")->target, "/");
  EXPECT_EQ(parse_url("http://gpu1?a=b")->target, "/?a=b");
}

TEST(ParseUrl, LeavesOutTheFragment) { EXPECT_EQ(parse_url("http://gpu1/a#b")->target, "/a"); }

TEST(ParseUrl, WritesAddressesOfIpv6InBrackets) {
  const auto url = parse_url("http://[::1]:9700/");
  ASSERT_TRUE(url) << url.error().message();
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(host_and_port(*url), "[::1]:9700");
}

TEST(ParseUrl, ReadsTheSocketsPathAndWhatIsAskedThere) {
  const auto url = parse_url("unix:/run/berth-serve/serve.sock:/api/v1/hosts");
  ASSERT_TRUE(url) << url.error().message();
  EXPECT_EQ(url->socket, "/run/berth-serve/serve.sock");
  EXPECT_EQ(url->target, "/api/v1/hosts");
  EXPECT_EQ(origin_of(*url), "unix:/run/berth-serve/serve.sock");
}

TEST(ParseUrl, RefusesWhatCannotBeAsked) {
  for (const char* text :
       {"", "gpu1", "ftp://gpu1/", "http://", "http:///a", "http://gpu1:0/", "http://gpu1:70000/",
        "http://gpu1:x/", "http://[::1/", "http://[gpu1]/", "http://a b/", "http://gpu\n1/",
        "http://gpu1/\r\nx: y", "http://gpü1/", "unix:relative.sock", "http://a_b,c/"}) {
    EXPECT_FALSE(parse_url(text)) << text;
  }
}

TEST(ParseUrl, RepeatsNoPasswordInItsRefusal) {
  const auto url = parse_url("https://bob:hunter2@gpu1/");
  ASSERT_FALSE(url);
  EXPECT_THAT(url.error().message(), Not(HasSubstr("hunter2")));
  EXPECT_THAT(url.error().message(), HasSubstr("password"));
}

TEST(ParseUrl, RepeatsNoSecretPathInItsRefusal) {
  const auto url = parse_url("https://hooks.example:x/services/T0/B0/hunter2");
  ASSERT_FALSE(url);
  EXPECT_THAT(url.error().message(), Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace berth::serve
