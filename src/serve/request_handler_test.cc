#include "serve/request_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/digest.h"
#include "serve/example_context.h"

namespace berth::serve {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

class Handled : public testing::Test {
 protected:
  Handled() {
    HandlerRules rules{.hosts = {}, .tokens = {}, .require_tokens = true, .own_uid = 500};
    const auto add = [&](const char* name, std::optional<uid_t> uid, bool admin = false) {
      static_cast<void>(rules.tokens.add({.name = name,
                                          .uid = uid,
                                          .admin = admin,
                                          .created = {},
                                          .expires = {},
                                          .sha256 = sha256_hex(std::string("secret of ") + name)}));
    };
    add("alice", alice);
    add("boss", std::nullopt, true);
    add("prometheus", std::nullopt);
    handler_.set_rules(std::move(rules));
    handler_.publish(example_context());
  }
  HttpResponse received(const HttpRequest& request, Peer peer) {
    Reception got = handler_.receive(request, peer, WallTime{1'760'000'000'500}, clock_.now());
    auto* response = std::get_if<HttpResponse>(&got);
    return response != nullptr ? *response : HttpResponse{.status = 0};
  }
  std::string news_for(Subscriber& subscriber) {
    const News news = handler_.news_for(subscriber);
    return news.events + (news.overview ? *news.overview : "");
  }
  static HttpRequest with_token(const char* path, const std::string& secret) {
    return get(path, {{"authorization", "Bearer " + secret}});
  }

  FakeClock clock_;
  std::vector<std::string> logged_;
  RequestHandler handler_{[this](const std::string& text) { logged_.push_back(text); }};
  const Peer loopback_{.listener = ListenerKind::loopback, .uid = {}, .address = "127.0.0.1"};
  const Peer wide_{.listener = ListenerKind::wide, .uid = {}, .address = "10.0.0.9"};
};

TEST_F(Handled, PeerOfTheSocketIsKnownByItsUid) {
  const Peer peer{.listener = ListenerKind::unix_socket, .uid = alice, .address = "uid 1001"};
  EXPECT_THAT(*received(get("/api/v1/overview"), peer).body, HasSubstr("alices-secret"));
  EXPECT_THAT(*received(get("/api/v1/overview"), peer).body, HasSubstr("\"admin\":false"));
  for (const uid_t admin : {uid_t{0}, uid_t{500}}) {
    const Peer own{.listener = ListenerKind::unix_socket, .uid = admin, .address = "uid"};
    EXPECT_THAT(*received(get("/api/v1/overview"), own).body, HasSubstr("\"admin\":true")) << admin;
  }
}

class CountingMetrics final : public MetricsSource {
 public:
  std::optional<MetricsText> page(const std::shared_ptr<const Snapshot>&,
                                  const MetricsQuestion&) override {
    const std::string line = "scrapes " + std::to_string(++scrapes_) + "\n";
    std::string text;
    while (text.size() < 4096) text += line;
    return MetricsText{.type = "text/plain", .body = std::make_shared<std::string>(text)};
  }

 private:
  int scrapes_ = 0;
};

TEST_F(Handled, PageOfMetricsIsMadeForEachScrapeAndSentAsItIs) {
  CountingMetrics metrics;
  RequestContext context = example_context();
  context.metrics = &metrics;
  handler_.publish(std::move(context));
  const HttpRequest scrape = get("/metrics");
  EXPECT_THAT(*received(scrape, loopback_).body, StartsWith("scrapes 1"));
  const HttpResponse second = received(scrape, loopback_);
  EXPECT_THAT(*second.body, StartsWith("scrapes 2")) << "its age would stand still";
  for (const auto& [name, value] : second.headers) {
    EXPECT_NE(name, "etag");
    EXPECT_NE(name, "content-encoding");
  }
}

TEST_F(Handled, PageOfMetricsIsCompressedOnAnotherThreadForWhoAsks) {
  CountingMetrics metrics;
  RequestContext context = example_context();
  context.metrics = &metrics;
  handler_.publish(std::move(context));
  const HttpRequest scrape = get("/metrics", {{"accept-encoding", "gzip"}});
  Reception got = handler_.receive(scrape, loopback_, WallTime{1'760'000'000'500}, clock_.now());
  auto* elsewhere = std::get_if<Elsewhere>(&got);
  ASSERT_NE(elsewhere, nullptr);
  EXPECT_EQ(elsewhere->work, WorkKind::pack);
  ASSERT_TRUE(elsewhere->made) << "what it is made from may change meanwhile";
  elsewhere->made->body = std::make_shared<const std::string>(2000, 'x');
  const HttpResponse packed = finished(scrape, *elsewhere->made);
  EXPECT_THAT(packed.headers, Contains(Pair("content-encoding", "gzip")));
  EXPECT_LT(packed.body->size(), 200U);
}

TEST_F(Handled, NobodyOnLoopbackHasThePublicView) {
  const HttpResponse response = received(get("/api/v1/overview"), loopback_);
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(*response.body, Not(HasSubstr("secret")));
}

TEST_F(Handled, WideDoorWantsAToken) {
  EXPECT_EQ(received(get("/api/v1/overview"), wide_).status, 401);
  EXPECT_EQ(received(with_token("/api/v1/overview", "secret of alice"), wide_).status, 200);
  EXPECT_EQ(received(get("/healthz"), wide_).status, 200) << "it tells nothing of anybody";
}

TEST_F(Handled, TokenSaysWhoSomebodyIs) {
  EXPECT_THAT(*received(with_token("/api/v1/overview", "secret of alice"), loopback_).body,
              HasSubstr("\"user\":\"alice\",\"admin\":false"));
  EXPECT_THAT(*received(with_token("/api/v1/overview", "secret of boss"), loopback_).body,
              HasSubstr("bobs-secret"));
}

TEST_F(Handled, TokenForNobodyOpensTheDoorAndShowsNoMore) {
  const HttpResponse seen = received(with_token("/api/v1/overview", "secret of prometheus"), wide_);
  EXPECT_EQ(seen.status, 200);
  EXPECT_THAT(*seen.body, HasSubstr("\"admin\":false,\"sees\":\"public\""));
  EXPECT_THAT(*seen.body, Not(HasSubstr("secret")));
}

TEST_F(Handled, ReaderOfEventsGoesWithHisToken) {
  const HttpRequest question = with_token("/api/v1/events", "secret of boss");
  const auto got = handler_.receive(question, loopback_, {}, {});
  ASSERT_TRUE(std::holds_alternative<Streaming>(got));
  const Subscriber subscriber = handler_.subscribe(std::get<Streaming>(got).principal, question);
  EXPECT_TRUE(handler_.may_stay(subscriber, WallTime{1}));
  HandlerRules rules = handler_.rules();
  const Token boss = *rules.tokens.find("secret of boss", WallTime{1});
  ASSERT_TRUE(rules.tokens.revoke(boss.name));
  handler_.set_rules(rules);
  EXPECT_FALSE(handler_.may_stay(subscriber, WallTime{1}));
  // To replace a token that has leaked, the new one gets the old one's name.
  Token another = boss;
  another.sha256 = std::string(64, 'a');
  ASSERT_TRUE(rules.tokens.add(another));
  handler_.set_rules(rules);
  EXPECT_FALSE(handler_.may_stay(subscriber, WallTime{1}));
}

TEST_F(Handled, WrongTokensAreRefusedThenSlowedDownAndLoggedOnce) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(received(with_token("/api/v1/overview", "guess"), loopback_).status, 401) << i;
  }
  EXPECT_EQ(received(with_token("/api/v1/overview", "guess"), loopback_).status, 429);
  EXPECT_EQ(received(with_token("/api/v1/overview", "secret of alice"), loopback_).status, 200)
      << "the right one is taken all the same: others share the address behind a proxy";
  EXPECT_THAT(logged_, ElementsAre("a wrong token from 127.0.0.1"));
  clock_.advance(std::chrono::seconds(61));
  EXPECT_EQ(received(with_token("/api/v1/overview", "guess"), loopback_).status, 401);
  EXPECT_THAT(logged_.back(), HasSubstr("10 like it"));
}

TEST_F(Handled, WhatIsKeptForOneIsNotGivenToAnother) {
  const HttpRequest question = get("/api/v1/overview");
  const Peer of_alice{.listener = ListenerKind::unix_socket, .uid = alice, .address = "a"};
  const Peer of_bob{.listener = ListenerKind::unix_socket, .uid = bob, .address = "b"};
  EXPECT_THAT(*received(question, of_alice).body, HasSubstr("alices-secret"));
  EXPECT_THAT(*received(question, of_bob).body, Not(HasSubstr("alices-secret")));
  EXPECT_THAT(*received(question, loopback_).body, Not(HasSubstr("secret")));
}

TEST_F(Handled, SameAnswerIsMadeOncePerLook) {
  const HttpResponse first = received(get("/gpu-status"), loopback_);
  EXPECT_EQ(received(get("/gpu-status"), loopback_).body, first.body);
  handler_.publish(example_context());
  EXPECT_NE(received(get("/gpu-status"), loopback_).body, first.body);
}

TEST_F(Handled, WhatReadsFilesIsAnsweredElsewhere) {
  const auto got = handler_.receive(get("/api/v1/runs"), loopback_, {}, {});
  ASSERT_TRUE(std::holds_alternative<Elsewhere>(got));
  EXPECT_EQ(std::get<Elsewhere>(got).work, WorkKind::homes);
  EXPECT_EQ(std::get<Elsewhere>(handler_.receive(get("/api/v1/usage"), loopback_, {}, {})).work,
            WorkKind::history)
      << "a home that hangs keeps nobody from the history";
}

TEST_F(Handled, SubscriberHearsOfEachLookOnceAndSkipsWhatHeMissed) {
  Subscriber subscriber = handler_.subscribe(nobody(), get("/api/v1/events"));
  const std::string first = news_for(subscriber);
  EXPECT_THAT(first, StartsWith("event: overview\nid: 7.0\ndata: {"));
  EXPECT_THAT(first, Not(HasSubstr("secret")));
  EXPECT_EQ(news_for(subscriber), "");
  for (std::uint64_t sequence = 8; sequence <= 10; ++sequence) {
    RequestContext context = example_context();
    context.sequence = sequence;
    handler_.publish(std::move(context));
  }
  const std::string later = news_for(subscriber);
  EXPECT_THAT(later, HasSubstr("id: 10.0"));
  EXPECT_THAT(later, Not(HasSubstr("id: 8.0"))) << "nothing is queued for who is slow";
}

TEST_F(Handled, WhoComesBackHearsTheEventsHeMissed) {
  handler_.announce("health", "{\"n\":1}");
  Subscriber fresh = handler_.subscribe(nobody(), get("/api/v1/events"));
  EXPECT_THAT(news_for(fresh), Not(HasSubstr("event: health")));
  handler_.announce("health", "{\"n\":2}");
  Subscriber back = handler_.subscribe(nobody(), get("/api/v1/events", {{"last-event-id", "7.1"}}));
  const std::string news = news_for(back);
  EXPECT_THAT(news, HasSubstr("event: health\nid: 7.2\ndata: {\"n\":2}\n\n"));
  EXPECT_THAT(news, Not(HasSubstr("{\"n\":1}")));
  for (const char* strange : {"99.99", "x", "1.x", "."}) {
    Subscriber odd =
        handler_.subscribe(nobody(), get("/api/v1/events", {{"last-event-id", strange}}));
    EXPECT_THAT(news_for(odd), StartsWith("event: overview")) << strange;
  }
}

}  // namespace
}  // namespace berth::serve
