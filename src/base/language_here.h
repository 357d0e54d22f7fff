#pragma once
// LanguageHere: a server speaks the asker's language, whatever the process has chosen.

#include "base/tr.h"

namespace berth {

/// Words are in this language on this thread, as long as it lives.
class LanguageHere {
 public:
  explicit LanguageHere(Language language);
  ~LanguageHere();
  LanguageHere(const LanguageHere&) = delete;
  LanguageHere& operator=(const LanguageHere&) = delete;
};

}  // namespace berth
