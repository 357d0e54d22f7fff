#pragma once
// A finding's words as tests look for them, one line each.

#include <string>

#include "snapshot/finding.h"

namespace berth {

inline std::string evidence_in(const Finding& finding) {
  std::string text;
  for (const Sentence& one : finding.evidence) text += one.english() + "\n";
  return text;
}
inline std::string steps_in(const Finding& finding) {
  std::string text;
  for (const Finding::Step& step : finding.steps) {
    text += step.what.english() + " | " + step.command + "\n";
  }
  return text;
}

}  // namespace berth
