#include "run/container/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Words = std::vector<std::string>;

ContainerCommand read(const Words& words) {
  auto command = read_container_command(words);
  EXPECT_TRUE(command) << (command ? "" : command.error().message());
  EXPECT_TRUE(command && *command) << shell_joined(words) << " is no container's";
  return command && *command ? **command : ContainerCommand();
}

bool is_container_run(const Words& words) {
  const auto command = read_container_command(words);
  return command && *command;
}

TEST(ContainerCommand, FindsTheImageBehindOptionsOfEachForm) {
  const Words words = {"docker",    "run",        "--rm",    "-it",  "-p",
                       "8888:8888", "-e",         "A=1",     "-v=x", "--name",
                       "n",         "--gpus=all", "jupyter", "-e",   "B=2"};
  const ContainerCommand command = read(words);
  EXPECT_EQ(command.image_name(), "jupyter") << "what stands behind it is the program's own";
  EXPECT_EQ(command.find("env")->value, "A=1");
  EXPECT_EQ(command.find("volume")->value, "x");
  EXPECT_EQ(command.find("gpus")->value, "all");
  EXPECT_TRUE(command.has("tty"));
  EXPECT_FALSE(command.has("detach"));
}

TEST(ContainerCommand, ReadsLettersTogetherAndTheValueOfTheLast) {
  const ContainerCommand command = read({"docker", "run", "-itde", "A=1", "-p80:80", "image"});
  EXPECT_TRUE(command.has("detach"));
  EXPECT_EQ(command.find("env")->value, "A=1");
  EXPECT_EQ(command.find("publish")->value, "80:80");
  EXPECT_EQ(command.image_name(), "image");
}

TEST(ContainerCommand, ASwitchMayBeTurnedOff) {
  EXPECT_FALSE(read({"docker", "run", "--privileged=false", "image"}).has("privileged"));
  EXPECT_FALSE(read({"docker", "run", "-d=false", "image"}).has("detach"));
}

TEST(ContainerCommand, TheEngineHasOptionsOfItsOwn) {
  const ContainerCommand docker =
      read({"/usr/bin/docker", "-H", "unix:///x", "container", "run", "image"});
  EXPECT_EQ(docker.engine, "docker");
  EXPECT_THAT(docker.engine_words(), ElementsAre("/usr/bin/docker", "-H", "unix:///x"));
  EXPECT_EQ(read({"podman", "--root", "/r", "-c", "far", "run", "i"}).engine_options.back().name,
            "connection");
  EXPECT_EQ(read({"docker", "-c", "far", "run", "i"}).engine_options.back().name, "context");
  EXPECT_EQ(read({"nerdctl", "-n", "k8s.io", "run", "i"}).engine_options.back().name, "namespace");
}

TEST(ContainerCommand, OtherCommandsAreNone) {
  EXPECT_FALSE(is_container_run({"docker", "ps"}));
  EXPECT_FALSE(is_container_run({"docker", "exec", "x", "run"}));
  EXPECT_FALSE(is_container_run({"docker", "compose", "run", "x"}));
  EXPECT_FALSE(is_container_run({"python", "run"}));
  EXPECT_FALSE(is_container_run({"sudo", "docker", "run", "x"}));
  EXPECT_FALSE(is_container_run({"docker"}));
}

TEST(ContainerCommand, AnUnknownOptionIsNotGuessed) {
  const auto command = read_container_command({"docker", "run", "--newest", "image"});
  ASSERT_FALSE(command);
  EXPECT_THAT(command.error().message(), HasSubstr("write --newest=VALUE"));
  EXPECT_EQ(read({"docker", "run", "--newest=1", "image"}).image_name(), "image");
}

TEST(ContainerCommand, WithoutOptionsNothingElseChanges) {
  const ContainerCommand command =
      read({"docker", "run", "-ite", "A=1", "--gpus", "all", "--privileged", "image", "--gpus"});
  EXPECT_THAT(without_options(
                  command, {command.find("env"), command.find("gpus"), command.find("privileged")}),
              ElementsAre("docker", "run", "-it", "image", "--gpus"));
}

TEST(ContainerCommand, WithoutAnImageNoneIsNamed) {
  EXPECT_THAT(read({"docker", "run", "-it"}).image_name(), IsEmpty());
  EXPECT_THAT(read({"docker", "run", "-e"}).image_name(), IsEmpty());
  EXPECT_EQ(read({"docker", "run", "--", "image"}).image_name(), "image");
}

}  // namespace
}  // namespace berth
