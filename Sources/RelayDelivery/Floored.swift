// SPDX-License-Identifier: Apache-2.0

/// Division with a remainder that is never negative, for times before 1970.
func floored(_ number: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
  let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
  return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
}
