#include "serve/desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/digest.h"
#include "serve/example_world.h"

namespace berth::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class AtTheDesk : public testing::Test {
 protected:
  AtTheDesk() {
    DeskRules rules{.hosts = {}, .tokens = {}, .require_tokens = true, .own_uid = 500};
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
    desk_.set_rules(std::move(rules));
    desk_.publish(example_world());
  }
  Response received(const Request& request, Peer peer) {
    Reception got = desk_.receive(request, peer, WallTime{1'760'000'000'500}, clock_.now());
    auto* response = std::get_if<Response>(&got);
    return response != nullptr ? *response : Response{.status = 0};
  }
  std::string news_for(Subscriber& subscriber) {
    const News news = desk_.news_for(subscriber);
    return news.events + (news.overview ? *news.overview : "");
  }
  static Request with_token(const char* path, const std::string& secret) {
    return get(path, {{"authorization", "Bearer " + secret}});
  }

  FakeClock clock_;
  std::vector<std::string> logged_;
  Desk desk_{[this](const std::string& text) { logged_.push_back(text); }};
  const Peer loopback_{.door = Door::loopback, .uid = {}, .address = "127.0.0.1"};
  const Peer wide_{.door = Door::wide, .uid = {}, .address = "10.0.0.9"};
};

TEST_F(AtTheDesk, PeerOfTheSocketIsKnownByItsUid) {
  const Peer peer{.door = Door::unix_socket, .uid = alice, .address = "uid 1001"};
  EXPECT_THAT(*received(get("/api/v1/overview"), peer).body, HasSubstr("alices-secret"));
  EXPECT_THAT(*received(get("/api/v1/overview"), peer).body, HasSubstr("\"admin\":false"));
  for (const uid_t admin : {uid_t{0}, uid_t{500}}) {
    const Peer own{.door = Door::unix_socket, .uid = admin, .address = "uid"};
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

TEST_F(AtTheDesk, PageOfMetricsIsMadeForEachScrapeAndSentAsItIs) {
  CountingMetrics metrics;
  World world = example_world();
  world.metrics = &metrics;
  desk_.publish(std::move(world));
  const Request scrape = get("/metrics", {{"accept-encoding", "gzip"}});
  EXPECT_THAT(*received(scrape, loopback_).body, StartsWith("scrapes 1"));
  const Response second = received(scrape, loopback_);
  EXPECT_THAT(*second.body, StartsWith("scrapes 2")) << "its age would stand still";
  for (const auto& [name, value] : second.headers) {
    EXPECT_NE(name, "etag");
    EXPECT_NE(name, "content-encoding");
  }
}

TEST_F(AtTheDesk, NobodyOnLoopbackHasThePublicView) {
  const Response response = received(get("/api/v1/overview"), loopback_);
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(*response.body, Not(HasSubstr("secret")));
}

TEST_F(AtTheDesk, WideDoorWantsAToken) {
  EXPECT_EQ(received(get("/api/v1/overview"), wide_).status, 401);
  EXPECT_EQ(received(with_token("/api/v1/overview", "secret of alice"), wide_).status, 200);
  EXPECT_EQ(received(get("/healthz"), wide_).status, 200) << "it tells nothing of anybody";
}

TEST_F(AtTheDesk, TokenSaysWhoSomebodyIs) {
  EXPECT_THAT(*received(with_token("/api/v1/overview", "secret of alice"), loopback_).body,
              HasSubstr("\"user\":\"alice\",\"admin\":false"));
  EXPECT_THAT(*received(with_token("/api/v1/overview", "secret of boss"), loopback_).body,
              HasSubstr("bobs-secret"));
}

TEST_F(AtTheDesk, TokenForNobodyOpensTheDoorAndShowsNoMore) {
  const Response seen = received(with_token("/api/v1/overview", "secret of prometheus"), wide_);
  EXPECT_EQ(seen.status, 200);
  EXPECT_THAT(*seen.body, HasSubstr("\"admin\":false,\"sees\":\"public\""));
  EXPECT_THAT(*seen.body, Not(HasSubstr("secret")));
}

TEST_F(AtTheDesk, ReaderOfEventsGoesWithHisToken) {
  const Request question = with_token("/api/v1/events", "secret of boss");
  const auto got = desk_.receive(question, loopback_, {}, {});
  ASSERT_TRUE(std::holds_alternative<Streaming>(got));
  const Subscriber subscriber = desk_.subscribe(std::get<Streaming>(got).asker, question);
  EXPECT_TRUE(desk_.may_stay(subscriber, WallTime{1}));
  DeskRules rules = desk_.rules();
  const Token boss = *rules.tokens.find("secret of boss", WallTime{1});
  ASSERT_TRUE(rules.tokens.revoke(boss.name));
  desk_.set_rules(rules);
  EXPECT_FALSE(desk_.may_stay(subscriber, WallTime{1}));
  // Who replaces a token that has leaked gives the new one the old one's name.
  Token another = boss;
  another.sha256 = std::string(64, 'a');
  ASSERT_TRUE(rules.tokens.add(another));
  desk_.set_rules(rules);
  EXPECT_FALSE(desk_.may_stay(subscriber, WallTime{1}));
}

TEST_F(AtTheDesk, WrongTokensAreRefusedThenSlowedDownAndLoggedOnce) {
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

TEST_F(AtTheDesk, WhatIsKeptForOneIsNotGivenToAnother) {
  const Request question = get("/api/v1/overview");
  const Peer of_alice{.door = Door::unix_socket, .uid = alice, .address = "a"};
  const Peer of_bob{.door = Door::unix_socket, .uid = bob, .address = "b"};
  EXPECT_THAT(*received(question, of_alice).body, HasSubstr("alices-secret"));
  EXPECT_THAT(*received(question, of_bob).body, Not(HasSubstr("alices-secret")));
  EXPECT_THAT(*received(question, loopback_).body, Not(HasSubstr("secret")));
}

TEST_F(AtTheDesk, SameAnswerIsMadeOncePerLook) {
  const Response first = received(get("/gpu-status"), loopback_);
  EXPECT_EQ(received(get("/gpu-status"), loopback_).body, first.body);
  desk_.publish(example_world());
  EXPECT_NE(received(get("/gpu-status"), loopback_).body, first.body);
}

TEST_F(AtTheDesk, WhatReadsFilesIsAnsweredElsewhere) {
  const auto got = desk_.receive(get("/api/v1/runs"), loopback_, {}, {});
  ASSERT_TRUE(std::holds_alternative<Elsewhere>(got));
  EXPECT_EQ(std::get<Elsewhere>(got).place, Place::homes);
  EXPECT_EQ(std::get<Elsewhere>(desk_.receive(get("/api/v1/usage"), loopback_, {}, {})).place,
            Place::history)
      << "a home that hangs keeps nobody from the history";
}

TEST_F(AtTheDesk, SubscriberHearsOfEachLookOnceAndSkipsWhatHeMissed) {
  Subscriber subscriber = desk_.subscribe(nobody(), get("/api/v1/events"));
  const std::string first = news_for(subscriber);
  EXPECT_THAT(first, StartsWith("event: overview\nid: 7.0\ndata: {"));
  EXPECT_THAT(first, Not(HasSubstr("secret")));
  EXPECT_EQ(news_for(subscriber), "");
  for (std::uint64_t sequence = 8; sequence <= 10; ++sequence) {
    World world = example_world();
    world.sequence = sequence;
    desk_.publish(std::move(world));
  }
  const std::string later = news_for(subscriber);
  EXPECT_THAT(later, HasSubstr("id: 10.0"));
  EXPECT_THAT(later, Not(HasSubstr("id: 8.0"))) << "nothing is queued for who is slow";
}

TEST_F(AtTheDesk, WhoComesBackHearsTheEventsHeMissed) {
  desk_.announce("health", "{\"n\":1}");
  Subscriber fresh = desk_.subscribe(nobody(), get("/api/v1/events"));
  EXPECT_THAT(news_for(fresh), Not(HasSubstr("event: health")));
  desk_.announce("health", "{\"n\":2}");
  Subscriber back = desk_.subscribe(nobody(), get("/api/v1/events", {{"last-event-id", "7.1"}}));
  const std::string news = news_for(back);
  EXPECT_THAT(news, HasSubstr("event: health\nid: 7.2\ndata: {\"n\":2}\n\n"));
  EXPECT_THAT(news, Not(HasSubstr("{\"n\":1}")));
  for (const char* strange : {"99.99", "x", "1.x", "."}) {
    Subscriber odd = desk_.subscribe(nobody(), get("/api/v1/events", {{"last-event-id", strange}}));
    EXPECT_THAT(news_for(odd), StartsWith("event: overview")) << strange;
  }
}

}  // namespace
}  // namespace berth::serve
