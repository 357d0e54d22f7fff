#include "app/token_watch.h"

#include <utility>

namespace berth {

TokenWatch::TokenWatch(std::optional<std::string> file) : file_(std::move(file)) {
  if (file_) read(*file_, *shared_);
}

void TokenWatch::read(const std::string& file, Shared& shared) {
  auto tokens = serve::load_tokens(file);
  const std::lock_guard lock(shared.mutex);
  shared.mistake = tokens ? "" : tokens.error().message();
  // Until a mistake is mended no token is right.
  shared.tokens = tokens ? std::move(*tokens) : serve::TokenStore{};
  shared.is_reading = false;
}

void TokenWatch::look_again() {
  if (!file_) return;
  const std::lock_guard lock(shared_->mutex);
  if (shared_->is_reading) return;
  shared_->is_reading = reader_.give([shared = shared_, file = *file_] { read(file, *shared); });
}

serve::TokenStore TokenWatch::tokens() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->tokens;
}

std::optional<std::string> TokenWatch::take_mistake() {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->mistake == said_) return std::nullopt;
  said_ = shared_->mistake;
  if (said_.empty()) return std::nullopt;
  return said_;
}

}  // namespace berth
