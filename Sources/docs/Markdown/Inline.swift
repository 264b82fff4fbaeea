// SPDX-License-Identifier: Apache-2.0

/// A part of a text.
indirect enum Inline: Equatable, Sendable {
  case text(String)
  case code(String)
  case emphasis([Inline])
  case strong([Inline])
  case link(Link, [Inline])
  case image(Link, alternative: String)
  case softBreak
  case lineBreak
}

struct Link: Equatable, Sendable {
  enum Destination: Equatable, Sendable {
    /// As an author wrote it, from where the file stands.
    case written(String)
    /// A page of the site, and an anchor on it.
    case page(String, anchor: String?)
    /// Any other address, as a browser on a page of the site understands it.
    case address(String)
  }

  var destination: Destination
  /// Where it was written.
  let place: Place
}

extension [Inline] {
  /// What is read when nothing can be shown.
  var plain: String {
    map {
      switch $0 {
      case .text(let text), .code(let text): text
      case .emphasis(let inner), .strong(let inner), .link(_, let inner): inner.plain
      case .image(_, let alternative): alternative
      case .softBreak, .lineBreak: " "
      }
    }.joined()
  }
}
