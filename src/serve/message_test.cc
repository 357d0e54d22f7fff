#include "serve/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/example_context.h"
#include "serve/http_request.h"
#include "serve/outgoing.h"
#include "serve/request_handler.h"

namespace berth::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(Target, IsDecodedOnce) {
  const auto target = parse_target("/a%20b/%2541?user=al%26ice&x=1+2&&flag");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/a b/%41");
  EXPECT_THAT(target->query,
              ElementsAre(Pair("user", "al&ice"), Pair("x", "1 2"), Pair("flag", "")));
}

TEST(Target, WrittenAsAWholeUrlNamesItsHost) {
  const auto target = parse_target("http://evil.example:80/api?x=1");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->host, "evil.example:80");
  EXPECT_EQ(target->path, "/api");
}

class BadTarget : public testing::TestWithParam<const char*> {};
TEST_P(BadTarget, IsRefused) { EXPECT_FALSE(parse_target(GetParam())) << GetParam(); }
INSTANTIATE_TEST_SUITE_P(Every, BadTarget,
                         testing::Values("", "api", "*", "/../etc/passwd", "/a/%2e%2e/b", "/a/./b",
                                         "/%", "/%4", "/%zz", "/a%00b", "/a%0ab", "/?x=%0d"));

HttpRequest asked(const char* host) {
  HttpRequest request;
  request.headers = {{"host", host}};
  return request;
}

TEST(Gate, LetsInWhoeverMeansThisServer) {
  for (const char* host :
       {"localhost", "LOCALHOST:9700", "127.0.0.1:1", "[::1]:9700", "localhost."}) {
    EXPECT_FALSE(refusal(asked(host), {}, {})) << host;
  }
  EXPECT_FALSE(refusal(asked("gpu1.lab:443"), {"gpu1.lab"}, {}));
}

TEST(Gate, RefusesANameThatIsNotIts) {
  const auto answer = refusal(asked("rebound.example"), {"gpu1.lab"}, {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 421);
}

TEST(Gate, WantsExactlyOneHost) {
  EXPECT_EQ(refusal(HttpRequest{}, {}, {})->status, 400);
  HttpRequest two = asked("localhost");
  two.headers.emplace_back("host", "evil.example");
  EXPECT_EQ(refusal(two, {}, {})->status, 400);
}

TEST(Gate, RefusesPagesOfOtherOrigins) {
  HttpRequest request = asked("localhost:9700");
  request.headers.emplace_back("origin", "http://evil.example");
  EXPECT_EQ(refusal(request, {}, {})->status, 403);
  request.headers.back().second = "null";
  EXPECT_EQ(refusal(request, {}, {})->status, 403);
  request.headers.back().second = "http://localhost:9700";
  EXPECT_FALSE(refusal(request, {}, {}));
}

const OtherSites portal{.trusted_origins = {"https://portal.lab"}, .frame_ancestors = {}};

TEST(Gate, LetsInPagesOfATrustedOriginAndOfNoneThatLooksLikeIt) {
  HttpRequest request = asked("localhost:9700");
  request.headers.emplace_back("origin", "https://portal.lab");
  EXPECT_FALSE(refusal(request, {}, portal));
  EXPECT_EQ(refusal(request, {}, {})->status, 403);
  for (const char* other : {"http://portal.lab", "https://portal.lab:8443", "https://a.portal.lab",
                            "https://portal.lab.evil.example", "https://portal.la", "null", ""}) {
    request.headers.back().second = other;
    EXPECT_EQ(refusal(request, {}, portal)->status, 403) << other;
  }
}

TEST(Gate, TakesNothingPostedThatAFormCouldPost) {
  HttpRequest request = asked("localhost");
  request.method = Method::post;
  request.headers.emplace_back("content-type", "text/plain");
  EXPECT_EQ(refusal(request, {}, {})->status, 400);
  request.headers.back().second = "Application/JSON; charset=utf-8";
  EXPECT_FALSE(refusal(request, {}, {}));
}

std::optional<std::string> header(const HttpResponse& response, std::string_view name) {
  for (const auto& [had, value] : response.headers) {
    if (had == name) return value;
  }
  return std::nullopt;
}

TEST(Outgoing, SameBodyHasTheSameTagAndIsNotSentAgain) {
  const HttpResponse first = finished(get("/"), json_response("{\"a\":1}"));
  const auto tag = header(first, "etag");
  ASSERT_TRUE(tag);
  const HttpResponse again =
      finished(get("/", {{"if-none-match", "\"x\", W/" + *tag}}), json_response("{\"a\":1}"));
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, nullptr);
  const HttpResponse changed =
      finished(get("/", {{"if-none-match", *tag}}), json_response("{\"a\":2}"));
  EXPECT_EQ(changed.status, 200);
}

TEST(Outgoing, LongTextIsCompressedForThoseWhoTakeIt) {
  const std::string text(5000, 'x');
  const HttpResponse plain = finished(get("/"), json_response(text));
  EXPECT_EQ(*plain.body, text);
  const HttpResponse packed =
      finished(get("/", {{"accept-encoding", "br, gzip"}}), json_response(text));
  EXPECT_EQ(header(packed, "content-encoding"), "gzip");
  EXPECT_LT(packed.body->size(), text.size() / 10);
  EXPECT_NE(header(packed, "etag"), header(plain, "etag"));
  EXPECT_EQ(header(packed, "vary"), "accept-encoding");
}

TEST(Outgoing, NobodyIsGivenAnEncodingThatHeRefuses) {
  EXPECT_FALSE(accepts_gzip(""));
  EXPECT_FALSE(accepts_gzip("br"));
  EXPECT_FALSE(accepts_gzip("gzip;q=0"));
  EXPECT_TRUE(accepts_gzip("gzip;q=0.5"));
  EXPECT_TRUE(accepts_gzip("GZIP"));
}

HttpResponse told(const OtherSites& sites, std::string_view origin) {
  HttpResponse answer = error_response(404, "x", "y", "z");
  add_browser_rules(answer, sites, origin);
  return answer;
}

TEST(BrowserRules, KeepPagesFromRunningForeignScripts) {
  const HttpResponse answer = told({}, "https://portal.lab");
  EXPECT_THAT(*header(answer, "content-security-policy"), HasSubstr("default-src 'none'"));
  EXPECT_THAT(*header(answer, "content-security-policy"), EndsWith("frame-ancestors 'none'"));
  EXPECT_EQ(header(answer, "x-content-type-options"), "nosniff");
  EXPECT_EQ(header(answer, "access-control-allow-origin"), std::nullopt);
  EXPECT_EQ(header(answer, "vary"), std::nullopt);
}

TEST(BrowserRules, NameTheTrustedOriginThatAsksAndNeverItsCredentials) {
  const HttpResponse answer = told(portal, "https://portal.lab");
  EXPECT_EQ(header(answer, "access-control-allow-origin"), "https://portal.lab");
  EXPECT_EQ(header(answer, "vary"), "origin");
  EXPECT_EQ(header(answer, "access-control-allow-credentials"), std::nullopt);
  EXPECT_THAT(*header(answer, "content-security-policy"), EndsWith("frame-ancestors 'none'"));
  for (const char* other : {"", "https://evil.example"}) {
    EXPECT_EQ(header(told(portal, other), "access-control-allow-origin"), std::nullopt) << other;
    EXPECT_EQ(header(told(portal, other), "vary"), "origin") << other;
  }
}

TEST(BrowserRules, LetAFrameAncestorShowThePageAndNothingElse) {
  const HttpResponse answer =
      told({.trusted_origins = {}, .frame_ancestors = {"https://a.lab", "https://b.lab"}},
           "https://a.lab");
  EXPECT_THAT(*header(answer, "content-security-policy"),
              EndsWith("frame-ancestors https://a.lab https://b.lab"));
  EXPECT_EQ(header(answer, "access-control-allow-origin"), std::nullopt);
}

TEST(Preflight, IsAnsweredToTrustedOriginsAlone) {
  HttpRequest request = get("/api/v1/overview", {{"origin", "https://portal.lab"},
                                                 {"access-control-request-method", "GET"}});
  request.method = Method::options;
  EXPECT_TRUE(is_preflight(request, portal));
  EXPECT_FALSE(is_preflight(request, {}));
  request.headers.erase(request.headers.begin() + 1);
  EXPECT_FALSE(is_preflight(request, portal)) << "a program's own question";
  EXPECT_EQ(answer_preflight().status, 204);
  EXPECT_EQ(header(answer_preflight(), "access-control-allow-credentials"), std::nullopt);
}

TEST(Head, IsAsHttpWants) {
  const std::string head =
      head_of(json_response("{}"), Afterwards::closes, WallTime{1'760'000'000'000});
  EXPECT_THAT(head,
              testing::StartsWith("HTTP/1.1 200 OK\r\ndate: Thu, 09 Oct 2025 08:53:20 GMT\r\n"));
  EXPECT_THAT(head, HasSubstr("content-length: 2\r\n"));
  EXPECT_THAT(head, EndsWith("connection: close\r\n\r\n"));
  HttpResponse unchanged;
  unchanged.status = 304;
  EXPECT_THAT(head_of(unchanged, Afterwards::stays_open, {}), Not(HasSubstr("content-length")));
}

}  // namespace
}  // namespace berth::serve
