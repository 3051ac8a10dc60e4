#include "opcode.hpp"

#include <iterator>

#include "core/error.hpp"
#include "program.hpp"

namespace tilewright::program {

namespace {

constexpr OpcodeFacts kFacts[] = {
#define TILEWRIGHT_OPCODE(name, text, family, pure) {text, Family::family, pure},
    TILEWRIGHT_OPCODES(TILEWRIGHT_OPCODE)
#undef TILEWRIGHT_OPCODE
};

}  // namespace

const OpcodeFacts& facts(Opcode code) { return kFacts[static_cast<int>(code)]; }

Opcode opcode_of(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kFacts); ++i) {
    if (kFacts[i].text == text) return static_cast<Opcode>(i);
  }
  throw ProgramError(concat("programs have no operation ", text));
}

}  // namespace tilewright::program
