#include "serve/visibility.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/example_context.h"
#include "snapshot/json.h"
#include "snapshot/questions.h"

namespace berth::serve {
namespace {

using Others = Visibility::Others;
using ::testing::HasSubstr;
using ::testing::Not;

std::string seen(const Principal& principal, Others others) {
  const RequestContext context = example_context(others);
  return to_json(visible_part(*context.snapshot, principal, context.visibility, *context.book),
                 JsonLayout::compact);
}

TEST(Visibility, NobodyInParticularSeesNamesAndNoCommands) {
  const std::string text = seen(nobody(), Others::open);
  EXPECT_THAT(text, HasSubstr("\"user\":\"alice\""));
  EXPECT_THAT(text, Not(HasSubstr("secret")));
  EXPECT_THAT(text, Not(HasSubstr("docker")));
  EXPECT_THAT(text, HasSubstr("\"command\":\"no permission\""));
}

TEST(Visibility, NamesOfPodsAreForOthersWhereTheyAreOpened) {
  RequestContext context = example_context(Others::open);
  Snapshot host = *context.snapshot;
  for (HostProcess& process : host.processes) {
    process.container = std::string("kubernetes pod 2f5c");
    process.enclosure = Enclosure{.runtime = "kubernetes",
                                  .id = "4f",
                                  .pod_uid = "2f5c",
                                  .name = std::string("team-a/llm-0/worker"),
                                  .image = std::string("secret-image")};
  }
  host.processes.back().enclosure =
      Enclosure{.runtime = "docker", .id = "ab", .name = std::string("train")};
  const auto seen_by_nobody = [&] {
    return to_json(visible_part(host, nobody(), context.visibility, *context.book),
                   JsonLayout::compact);
  };
  EXPECT_THAT(seen_by_nobody(), Not(HasSubstr("llm-0")));
  context.visibility.pods_are_open = true;
  EXPECT_THAT(seen_by_nobody(), HasSubstr("team-a/llm-0/worker"));
  EXPECT_THAT(seen_by_nobody(), Not(HasSubstr("secret")));
  EXPECT_THAT(seen_by_nobody(), Not(HasSubstr("train\"")));
}

TEST(Visibility, OfALeaseTheContainerIsItsOwners) {
  RequestContext context = example_context(Others::open);
  Snapshot host = *context.snapshot;
  host.claims = {{.id = "lease-1", .uid = alice, .user = "alice", .container = "4f5e6d"}};
  const auto seen_by = [&](const Principal& principal) {
    return visible_part(host, principal, context.visibility, *context.book).claims.at(0).container;
  };
  EXPECT_EQ(seen_by(known(alice)), "4f5e6d");
  EXPECT_EQ(seen_by(known(bob)), "");
  EXPECT_EQ(seen_by(nobody()), "");
}

TEST(Visibility, SomebodySeesHisOwnWhole) {
  const std::string text = seen(known(alice), Others::open);
  EXPECT_THAT(text, HasSubstr("alices-secret.py"));
  EXPECT_THAT(text, Not(HasSubstr("bobs-secret.py")));
}

TEST(Visibility, GroupShowsCommandsToItsMembersAlone) {
  EXPECT_THAT(seen(known(alice), Others::group), HasSubstr("bobs-secret.py"));
  EXPECT_THAT(seen(known(carol), Others::group), Not(HasSubstr("secret")));
  EXPECT_THAT(seen(nobody(), Others::group), Not(HasSubstr("secret")));
}

TEST(Visibility, AUserOfThisMachineSeesWhatItsProcAndLedgerShowHim) {
  const auto seen_by = [](Principal principal, Others others, bool open) {
    RequestContext context = example_context(others);
    context.visibility.commands_are_open = open;
    return to_json(visible_part(*context.snapshot, principal, context.visibility, *context.book),
                   JsonLayout::compact);
  };
  const Principal here = known(carol);
  Principal elsewhere = here;
  elsewhere.listener = ListenerKind::loopback;
  for (const Others others : {Others::open, Others::group}) {
    EXPECT_THAT(seen_by(here, others, true), HasSubstr("bobs-secret.py"));
    EXPECT_THAT(seen_by(here, others, true), Not(HasSubstr("docker"))) << "/proc does not say it";
    EXPECT_THAT(seen_by(here, others, false), Not(HasSubstr("secret"))) << "hidepid";
    EXPECT_THAT(seen_by(elsewhere, others, true), Not(HasSubstr("secret"))) << "is elsewhere";
    EXPECT_THAT(seen_by(nobody(), others, true), Not(HasSubstr("secret")));
  }
  EXPECT_THAT(seen_by(here, Others::owner, true), Not(HasSubstr("bob")));
  EXPECT_NE(here.view_key(), elsewhere.view_key()) << "they do not see the same";
}

TEST(Visibility, OwnerHidesTheNamesOfOthers) {
  const std::string text = seen(known(bob), Others::owner);
  EXPECT_THAT(text, Not(HasSubstr("alice")));
  EXPECT_THAT(text, HasSubstr("bobs-secret.py"));
}

TEST(Visibility, AdministratorSeesEverything) {
  const RequestContext context = example_context(Others::owner);
  EXPECT_EQ(visible_part(*context.snapshot, administrator(), context.visibility, *context.book),
            *context.snapshot);
}

TEST(Visibility, WhatIsHiddenStaysTakenAllTheSame) {
  const RequestContext context = example_context(Others::owner);
  const Snapshot part =
      visible_part(*context.snapshot, nobody(), context.visibility, *context.book);
  for (std::size_t i = 0; i < part.devices.size(); ++i) {
    EXPECT_EQ(state_of(part.devices[i], part),
              state_of(context.snapshot->devices[i], *context.snapshot))
        << part.devices[i].id.text();
  }
}

TEST(Visibility, OnlyOwnersAndAdministratorsMayAct) {
  EXPECT_TRUE(may_act_for(known(alice), alice));
  EXPECT_FALSE(may_act_for(known(bob), alice));
  EXPECT_TRUE(may_act_for(administrator(), alice));
  EXPECT_FALSE(may_act_for(nobody(), alice));
  EXPECT_FALSE(may_act_for(known(alice), std::nullopt)) << "whose it is, is not known";
  EXPECT_FALSE(may_act_for(nobody(), std::nullopt));
}

TEST(PrivatePaths, AreLeftOutAndThoseOfTheSystemStay) {
  EXPECT_EQ(without_private_paths("cannot open /home/alice/x.py: No such file"),
            "cannot open … No such file");
  EXPECT_EQ(without_private_paths("see \"/var/tmp/berth-1000/a\" (and /dev/nvidia0)"),
            "see \"…\" (and /dev/nvidia0)");
  EXPECT_EQ(without_private_paths("driver and/or library, 3 / 4"), "driver and/or library, 3 / 4");
  EXPECT_EQ(without_private_paths("/library/alice/x and /processed/y"), "… and …")
      << "a root is a whole name";
  EXPECT_EQ(without_private_paths("/proc and /lib64/ld.so"), "/proc and /lib64/ld.so");
  EXPECT_EQ(without_private_paths("tried a,/home/a/x; [/home/b]"), "tried a,…; […");
}

TEST(GroupBook, KnowsWhoSharesAGroup) {
  const GroupBook book(example_passwd, example_group);
  EXPECT_TRUE(book.share_group(alice, bob));
  EXPECT_FALSE(book.share_group(alice, carol));
  EXPECT_EQ(book.name_of(4242), "4242");
  EXPECT_EQ(book.name_of(bob), "bob");
  EXPECT_FALSE(GroupBook("garbage\n:::\nx:x:99999999999:1:", "y").share_group(0, 1));
}

TEST(Token, IsFoundInBothSchemes) {
  EXPECT_EQ(token_in("Bearer berth_abc"), "berth_abc");
  EXPECT_EQ(token_in("basic YWxpY2U6YmVydGhfYWJj"), "berth_abc");
  EXPECT_EQ(token_in("Basic !!!"), std::nullopt);
  EXPECT_EQ(token_in("Digest x"), std::nullopt);
  EXPECT_EQ(token_in(""), std::nullopt);
}

/// Also where the writer forgets that it is not its owner who reads.
TEST(Visibility, OfARunOthersAreGivenNoValueThatIsItsOwners) {
  RunRecord run;
  run.directory = "/secret";
  run.problems = {Sentence("secret")};
  run.manifest.id = "20260101-a";
  run.manifest.user = "alice";
  run.manifest.command = {"secret-command"};
  run.manifest.working_directory = run.manifest.inside = "/secret";
  run.manifest.log = "/secret/log";
  run.manifest.variables = {{"SECRET", "secret"}};
  run.manifest.python = PythonFacts{.interpreter = "/secret/python"};
  run.end = RunEnd{.because = "time limit"};
  const auto written = [&](AccessLevel access_level) {
    return write_json(JsonLayout::compact, [&](Archive& archive) {
      write_run(archive, visible_part(run, access_level), {}, RunReader::owner);
    });
  };
  EXPECT_THAT(written(AccessLevel::names), HasSubstr("time limit"));
  EXPECT_THAT(written(AccessLevel::names), HasSubstr("alice"));
  EXPECT_THAT(written(AccessLevel::names), Not(HasSubstr("secret")));
  EXPECT_THAT(written(AccessLevel::commands), HasSubstr("secret-command"));
  EXPECT_THAT(written(AccessLevel::commands), Not(HasSubstr("/secret")));
  EXPECT_THAT(written(AccessLevel::numbers), Not(HasSubstr("alice")));
}

}  // namespace
}  // namespace berth::serve
