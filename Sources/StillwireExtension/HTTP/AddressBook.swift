// SPDX-License-Identifier: Apache-2.0

/// The addresses that the app configures, one relay or all nodes of a cluster, and the order in which a client tries
/// them.
///
/// A node that is not the leader names the leader. The client uses this name only to choose among the configured
/// addresses: otherwise an answer could send the client, and its token, to any host.
package struct AddressBook: Equatable {
  package let addresses: [RelayAddress]
  /// The index of the address of the current attempt.
  private var current = 0
  /// The index of the address with which the next round begins.
  private var first = 0
  /// The addresses of the current round. A round tries each address at most once, so nodes that name each other cause
  /// no loop.
  private var tried: Set<Int> = []

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
    current = first
  }

  /// Ends the current attempt. Selects the leader that the node named, or else the next address of the list. Returns
  /// false if all addresses were tried. The next round begins with the leader.
  package mutating func selectNext(leader: String?) -> Bool {
    tried.insert(current)
    let named = leader.flatMap(RelayAddress.init).flatMap { addresses.firstIndex(of: $0) }
    if let named { first = named }
    let others = addresses.indices.map { (current + $0) % addresses.count }
    guard let next = ([named].compactMap(\.self) + others).first(where: { !tried.contains($0) }) else { return false }
    current = next
    return true
  }

  /// Stores that this node answered as the leader. The next round begins with it.
  package mutating func succeeded() { first = current }

  /// Stores that the leader no longer answers. The next round begins with the address after it.
  package mutating func avoid() { first = (current + 1) % addresses.count }
}
