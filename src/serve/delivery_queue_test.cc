#include "serve/delivery_queue.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/text.h"

namespace berth::serve {
namespace {

using namespace std::chrono_literals;
using Event = AlertMessage::Event;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

AlertReceiver receiver(std::string name, AlertSeverity least = AlertSeverity::notice) {
  return {.name = std::move(name), .url = "https://hook.example/secret", .least = least};
}
AlertMessage message(const std::string& id, Event event = Event::began,
                     AlertSeverity severity = AlertSeverity::critical) {
  return {.event = event,
          .alert = {.id = id,
                    .rule = AlertRule::gpu_lost,
                    .severity = severity,
                    .index = 3,
                    .summary = Sentence("it fell off the bus"),
                    .advice = Sentence("reboot")},
          .host = "gpu1"};
}

class Post : public testing::Test {
 protected:
  Post() {
    post.set_receivers({receiver("a"), receiver("b", AlertSeverity::warning)}, clock.now());
  }
  /// "a:1": what is sent now.
  std::vector<std::string> sent() {
    std::vector<std::string> all;
    for (const DeliveryQueue::Delivery& one : post.due(clock.now())) {
      all.push_back(one.receiver + ":" + one.message.alert.id);
      numbers[one.receiver] = one.number;
    }
    return all;
  }
  std::optional<std::string> went_well(const std::string& name) {
    return post.done(numbers[name], {}, clock.moment());
  }
  std::optional<std::string> failed(const std::string& name) {
    return post.done(numbers[name], fail(ErrorCode::io, "it answered 500"), clock.moment());
  }
  FakeClock clock;
  DeliveryQueue post;
  std::map<std::string, std::uint64_t> numbers;  // of the last delivery to each
};

TEST_F(Post, TellsEachReceiverOneAfterTheOther) {
  post.put(message("1"), clock.now());
  post.put(message("2"), clock.now());
  EXPECT_THAT(sent(), ElementsAre("a:1", "b:1"));
  EXPECT_THAT(sent(), IsEmpty()) << "both are under way";
  went_well("a");
  EXPECT_THAT(sent(), ElementsAre("a:2"));
}

TEST_F(Post, TellsNobodyOfLessThanHeWants) {
  post.put(message("1", Event::began, AlertSeverity::notice), clock.now());
  EXPECT_THAT(sent(), ElementsAre("a:1"));
}

TEST_F(Post, TellsOfEndsWhoWantsToHear) {
  AlertReceiver deaf = receiver("a");
  deaf.is_told_of_ends = false;
  post.set_receivers({deaf, receiver("b")}, clock.now());
  post.put(message("1", Event::resolved), clock.now());
  EXPECT_THAT(sent(), ElementsAre("b:1"));
}

TEST_F(Post, OneWhoHangsKeepsNobodyWaiting) {
  post.put(message("1"), clock.now());
  sent();
  for (int i = 2; i < 10; ++i) {
    went_well("b");
    post.put(message(std::to_string(i)), clock.now());
    EXPECT_THAT(sent(), ElementsAre("b:" + std::to_string(i)));
  }
}

TEST_F(Post, TriesAgainAfterAPauseThatGrows) {
  post.put(message("1"), clock.now());
  sent();
  went_well("b");
  Duration pause = 2s;
  for (int i = 0; i < 12; ++i) {
    failed("a");
    clock.advance(pause - 1ms);
    EXPECT_THAT(sent(), IsEmpty()) << i;
    clock.advance(1ms);
    EXPECT_THAT(sent(), ElementsAre("a:1")) << i;
    pause = std::min<Duration>(pause * 2, 5min);
  }
}

TEST_F(Post, SaysOnceThatItFailsAndOnceThatItWorksAgain) {
  post.put(message("1"), clock.now());
  sent();
  EXPECT_THAT(failed("a").value_or(""), HasSubstr("could not be told to a: it answered 500"));
  clock.advance(1h);
  sent();
  EXPECT_EQ(failed("a"), std::nullopt);
  EXPECT_EQ(post.figures()[0].trouble, "it answered 500");
  clock.advance(1h);
  sent();
  EXPECT_EQ(went_well("a"), "alerts reach a again");
  EXPECT_EQ(post.figures()[0].trouble, "");
  EXPECT_EQ(post.figures()[0].failed, 2U);
  EXPECT_EQ(post.figures()[0].delivered, 1U);
}

TEST_F(Post, ANewAlertDoesNotShortenThePause) {
  post.put(message("1"), clock.now());
  sent();
  failed("a");
  post.put(message("2"), clock.now());
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(Post, DropsTheOldestThatIsNotOnItsWay) {
  for (int i = 1; i <= 100; ++i) {
    post.put(message(std::to_string(i)), clock.now());
    if (i == 1) sent();
  }
  EXPECT_EQ(post.figures()[0].waiting, DeliveryQueue::most_waiting);
  EXPECT_EQ(post.figures()[0].dropped, 36U);
  went_well("a");
  EXPECT_THAT(sent(), ElementsAre("a:38"));
}

TEST_F(Post, KeepsWhatWaitsWhenTheConfigurationIsReadAgain) {
  post.put(message("1"), clock.now());
  sent();
  failed("a");
  post.set_receivers({receiver("a"), receiver("c")}, clock.now());
  EXPECT_THAT(sent(), ElementsAre("a:1")) << "at once: it may have been the configuration";
  EXPECT_EQ(went_well("b"), std::nullopt) << "of one who is gone nothing is heard";
  EXPECT_THAT(post.figures(), SizeIs(2));
}

TEST_F(Post, TakesNoAnswerToAnotherMessageForOneToThis) {
  post.put(message("1"), clock.now());
  sent();
  const std::uint64_t first = numbers["a"];
  post.set_receivers({receiver("b")}, clock.now());
  post.set_receivers({receiver("a"), receiver("b")}, clock.now());
  post.put(message("2"), clock.now());
  EXPECT_THAT(sent(), ElementsAre("a:2"));
  EXPECT_EQ(post.done(first, {}, clock.moment()), std::nullopt);
  EXPECT_EQ(post.figures()[0].delivered, 0U) << "it was the first that arrived";
  EXPECT_THAT(failed("a").value_or(""), HasSubstr("it answered 500"));
  clock.advance(2s);
  EXPECT_THAT(sent(), ElementsAre("a:2")) << "it is told again";
  went_well("a");
  EXPECT_EQ(post.figures()[0].delivered, 1U);
}

TEST_F(Post, SaysWhatIsDroppedWithAReceiver) {
  for (const char* id : {"1", "2", "3"}) post.put(message(id), clock.now());
  sent();
  went_well("b");
  AlertReceiver other_kind = receiver("b");
  other_kind.kind = AlertReceiver::Kind::command;
  EXPECT_THAT(post.set_receivers({other_kind}, clock.now()),
              ElementsAre(DeliveryQueue::Dropped{"a", 3}, DeliveryQueue::Dropped{"b", 2}));
  EXPECT_THAT(post.set_receivers({}, clock.now()), IsEmpty()) << "nothing waited for it";
}

TEST_F(Post, LeavesWhatDidNotArriveToTheNextServer) {
  post.put(message("1"), clock.now());
  sent();
  went_well("a");
  EXPECT_THAT(post.undelivered(), ElementsAre(Undelivered{"b", AlertChange::What::began, "1"}));
  DeliveryQueue next;
  next.set_receivers({receiver("b")}, clock.now());
  EXPECT_TRUE(next.put_for("b", message("1"), clock.now()));
  EXPECT_FALSE(next.put_for("nobody", message("1"), clock.now()));
  EXPECT_THAT(next.due(clock.now()), SizeIs(1));
}

TEST(Sentence, SaysWhereWhatAndWhatToDo) {
  EXPECT_EQ(sentence_of(message("1")),
            "CRITICAL on gpu1, GPU 3 (gpu_lost): it fell off the bus. To do: reboot");
  AlertMessage over = message("1", Event::resolved);
  over.alert.last_seen = {90'000};
  EXPECT_EQ(sentence_of(over),
            "resolved on gpu1, GPU 3 (gpu_lost), lasted 1m30s: it fell off the bus");
}

AlertChange end_of(Ending ending) {
  Alert alert = message("1").alert;
  alert.resolved = WallTime{1000};
  alert.ending = ending;
  return {.what = AlertChange::What::ended, .alert = alert};
}

TEST(Message, CallsNothingResolvedThatNobodySawMended) {
  EXPECT_EQ(message_of(end_of(Ending::resolved), "gpu1")->event, Event::resolved);
  EXPECT_EQ(message_of(end_of(Ending::unwatched), "gpu1"), std::nullopt);
  const auto unknown = message_of(end_of(Ending::unknown), "gpu1");
  ASSERT_TRUE(unknown);
  EXPECT_EQ(sentence_of(*unknown),
            "no longer known on gpu1, GPU 3 (gpu_lost), nothing of it could be read for 1d00h: "
            "it fell off the bus");
  EXPECT_THAT(to_json(*unknown), HasSubstr("\"event\":\"unknown\""));
  EXPECT_THAT(to_json(*unknown), HasSubstr("\"ending\":\"unknown\""));
}

TEST_F(Post, TellsThatOneIsNoLongerKnownLikeAnEnd) {
  AlertReceiver deaf = receiver("a");
  deaf.is_told_of_ends = false;
  post.set_receivers({deaf, receiver("b")}, clock.now());
  post.put(*message_of(end_of(Ending::unknown), "gpu1"), clock.now());
  EXPECT_THAT(sent(), ElementsAre("b:1"));
  EXPECT_THAT(post.undelivered(), ElementsAre(Undelivered{"b", AlertChange::What::ended, "1"}));
}

TEST(Sentence, IsMarkedWhereItIsSimulated) {
  AlertMessage simulated = message("1");
  simulated.alert.simulated = "lab-4";
  EXPECT_TRUE(sentence_of(simulated).starts_with("SIMULATED lab-4: "));
  EXPECT_TRUE(sentence_of(test_message("gpu1", "lab-4", {})).starts_with("SIMULATED lab-4: "));
  EXPECT_THAT(to_json(simulated), HasSubstr("\"text\":\"SIMULATED lab-4: "));
  EXPECT_THAT(variables_of(simulated), testing::Contains("BERTH_ALERT_SIMULATED=lab-4"));
}

TEST(Sentence, GivesSlackNoOrders) {
  AlertMessage hostile = message("1");
  hostile.alert.users = {{.uid = std::nullopt, .name = "<!channel>\n&"}};
  EXPECT_THAT(to_json(hostile), HasSubstr("it fell off the bus: &lt;!channel&gt;\\\\x0A&amp;"));
}

TEST(Variables, HoldTheAlertAndNoLineBreak) {
  AlertMessage hostile = message("1");
  hostile.alert.summary = Sentence("a\nPATH=/evil");
  for (const std::string& one : variables_of(hostile)) {
    EXPECT_TRUE(one.starts_with("BERTH_ALERT_")) << one;
    EXPECT_EQ(one.find('\n'), std::string::npos) << one;
  }
  EXPECT_THAT(variables_of(message("1")),
              testing::IsSupersetOf({"BERTH_ALERT_EVENT=began", "BERTH_ALERT_INDEX=3",
                                     "BERTH_ALERT_SEVERITY=critical", "BERTH_ALERT_HOST=gpu1"}));
}

}  // namespace
}  // namespace berth::serve
