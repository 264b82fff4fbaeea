// SPDX-License-Identifier: Apache-2.0

/// The addresses that the app configures, one relay or all nodes of a cluster, and the order in which a client tries
/// them.
///
/// A node that is not the leader names the leader. The client uses this name only to choose among the configured
/// addresses: otherwise an answer could send the client, and its token, to any host.
package struct AddressBook: Equatable, Sendable {
  package let addresses: [RelayAddress]
  /// The index of the address of the current attempt.
  private var current = 0
  /// The index of the address with which the next round begins.
  private var first = 0
  /// The addresses of the current round. A round tries each address at most once, so nodes that name each other cause
  /// no loop.
  private var tried: Set<Int> = []
  /// False if the newest node that answered in the current round knew no leader.
  private var hasLeader = true
  /// The node that answered last as the leader.
  private var leader: Int?
  /// The node that another node has named since.
  private var named: Int?
  /// The times at which addresses were silent.
  private var silent: [Int: Duration] = [:]

  /// The time for which a silent address is left out while the other nodes know no leader.
  static let rest = Duration.seconds(10)

  /// - Parameter addresses: At least one address. A repeated address counts once.
  package init(_ addresses: [RelayAddress]) {
    var seen: Set<RelayAddress> = []
    self.addresses = addresses.filter { seen.insert($0).inserted }
    precondition(!addresses.isEmpty, "a client needs an address")
  }

  package var address: RelayAddress { addresses[current] }
  package var areSeveral: Bool { addresses.count > 1 }

  package mutating func beginRound() {
    tried = []
    hasLeader = true
    current = first
  }

  /// Ends the current attempt. Selects the leader that the node named, or else the next address of the list. Returns
  /// false if all addresses were tried. The next round begins with the leader.
  /// - Parameters:
  ///   - leader: The URL of the leader that the node named.
  ///   - isStandby: True if the node has answered that it does not lead.
  ///   - now: The time since a start, which is the same for all calls.
  package mutating func selectNext(leader: String?, isStandby: Bool = false, at now: Duration) -> Bool {
    tried.insert(current)
    if isStandby || leader != nil {
      hasLeader = leader != nil
      silent[current] = nil
    }
    let index = leader.flatMap(RelayAddress.init).flatMap { addresses.firstIndex(of: $0) }
    if let index {
      first = index
      named = index
    }
    let others = addresses.indices.map { (current + $0) % addresses.count }.filter { !isLeftOut($0, at: now) }
    guard let next = ([index].compactMap(\.self) + others).first(where: { !tried.contains($0) }) else { return false }
    current = next
    return true
  }

  private func isLeftOut(_ index: Int, at now: Duration) -> Bool {
    guard !hasLeader, let since = silent[index] else { return false }
    return now - since < Self.rest
  }

  /// Stores that this node answered as the leader. The next round begins with it.
  ///
  /// Returns true if the leader is another node than before, or if another node has named it.
  @discardableResult
  package mutating func succeeded() -> Bool {
    defer {
      first = current
      leader = current
      named = nil
      silent[current] = nil
    }
    return areSeveral && (current == named || current != leader)
  }

  /// Stores that this node does not answer. The next round begins with the address after it.
  package mutating func avoid(at now: Duration) {
    silent[current] = now
    if first == current { first = (current + 1) % addresses.count }
  }
}
