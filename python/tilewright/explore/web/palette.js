// The colours of owners, as cute.show has them: PALETTE and FADED come from tilewright.show.
import { FADED, NOBODY, PALETTE } from "./constants.js";

const inRound = owner => ((owner % PALETTE.length) + PALETTE.length) % PALETTE.length;

export function fillOf(owner, faded = false) {
  if (owner === null || !Number.isFinite(owner)) return NOBODY[Number(faded)];
  return (faded ? FADED : PALETTE)[inRound(owner)];
}
