// SPDX-License-Identifier: Apache-2.0
// The sentence of a banner about members with a Focus. Has no dependency on SwiftUI.
public import StillwireClient

/// The members whose Focus silences notifications, as a banner names them.
public struct SilencedNotice: Equatable, Sendable {
  /// Maximum number of names in the sentence.
  public static let maxNames = 2

  /// The first names, at most ``maxNames``.
  public let names: [String]
  /// The number of members without a name in the sentence.
  public let others: Int

  /// Names the silenced members of a room. Returns `nil` if there are none.
  /// - Parameter me: The app's own user. The notice does not name this user.
  public init?(_ people: People, without me: UserID? = nil) {
    self.init(people.silenced.filter { $0.user != me }.map(\.user), in: people)
  }

  /// Names these users. Returns `nil` if the list is empty.
  /// - Parameters:
  ///   - users: The users, such as ``StillwireClient/Sent/Delivery/silenced``.
  ///   - people: The people of the room, with their names. Without a name the notice shows the user's id.
  public init?(_ users: [UserID], in people: People) {
    guard !users.isEmpty else { return nil }
    names = users.prefix(Self.maxNames).map { people[$0]?.name ?? $0.rawValue }
    others = users.count - names.count
  }

  /// The sentence in English: “Bob and Cleo have notifications silenced”.
  public var text: String {
    let people = names + (others > 0 ? ["\(others) \(others == 1 ? "other" : "others")"] : [])
    let subject = people.dropLast().joined(separator: ", ") + (people.count > 1 ? " and " : "") + (people.last ?? "")
    return "\(subject) \(people.count == 1 ? "has" : "have") notifications silenced"
  }
}
