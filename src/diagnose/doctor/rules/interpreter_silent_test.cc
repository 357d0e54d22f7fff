#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Examined answering(InterpreterAnswer answer) {
  Examined host = healthy();
  host.world.python =
      PythonWorld{.interpreter = "/bin/ls", .found_by = "--python", .answer = std::move(answer)};
  return host;
}

TEST(DoctorInterpreterSilent, NamesHowItEnded) {
  EXPECT_EQ(told(answering({InterpreterEnd::failed, 2, "ls: cannot access"})),
            "error interpreter_silent: asked for its version it ended with exit code 2; it wrote: "
            "ls: cannot access");
  EXPECT_THAT(told(answering({.end = InterpreterEnd::crashed, .code = 11})),
              HasSubstr("ended by signal 11"));
  EXPECT_THAT(told(answering({.end = InterpreterEnd::took_too_long})), HasSubstr("after 5 s"));
  EXPECT_THAT(told(answering({.end = InterpreterEnd::not_python})), HasSubstr("no Python"));
  const Examined host = answering({.end = InterpreterEnd::not_started, .wrote = "no processes"});
  EXPECT_THAT(told(host), HasSubstr("could not be started; it wrote: no processes"));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("timeout 10 /bin/ls -c"));
}

TEST(DoctorInterpreterSilent, OneThatNobodyNamedIsAWarning) {
  Examined host = answering({.end = InterpreterEnd::failed, .code = 127});
  host.world.python->found_by = "PATH";
  EXPECT_THAT(told(host), HasSubstr("warning interpreter_silent: "));
}

TEST(DoctorInterpreterSilent, OneThatAnsweredOrWasNotAskedIsNotSilent) {
  EXPECT_THAT(rules_of(answering({.end = InterpreterEnd::answered})), IsEmpty());
  EXPECT_THAT(rules_of(answering({.end = InterpreterEnd::not_asked})), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
