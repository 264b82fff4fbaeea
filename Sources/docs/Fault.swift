// SPDX-License-Identifier: Apache-2.0

/// Where something stands in the checkout.
struct Place: Equatable, Sendable {
  let file: String
  /// nil where the file is not read by lines.
  var line: Int?
}

/// What is wrong with a source of the site, in words for its author.
struct Fault: Equatable, CustomStringConvertible {
  let place: Place
  let words: String

  init(_ place: Place, _ words: String) {
    self.place = place
    self.words = words
  }

  /// As compilers say it, so that editors find the place.
  var description: String {
    "\(place.file):\(place.line.map { "\($0):" } ?? "") error: \(words)"
  }
}

/// All that is wrong, so that it is mended at once.
struct Faults: Error, Equatable {
  let all: [Fault]

  init(all: [Fault]) {
    self.all = all
  }

  /// A single one.
  init(_ place: Place, _ words: String) {
    all = [Fault(place, words)]
  }
}
