// SPDX-License-Identifier: Apache-2.0
import CNATS
import Dispatch

/// Ends subscriptions so that no thread of cnats uses one after it is freed.
///
/// The reading thread of cnats 3.4.1 finds the subscription of a message under a lock, and uses it after the lock, without
/// a reference of its own. So a subscription that is unsubscribed and freed at once may still be in use, and the process
/// crashes. cnats 3.6 holds a reference.
enum SubscriptionEnd {
  /// The time from the unsubscribe to the free: much longer than the reading thread needs for one message.
  private static let delay = DispatchTimeInterval.seconds(10)
  /// cnats also deletes the consumer of the subscription, which waits for an answer of the server.
  private static let queue = DispatchQueue(label: "stillwire.subscriptions")

  /// Returns at once.
  static func end(_ subscription: OpaquePointer?) {
    guard let subscription else { return }
    let lease = Lease(subscription)
    queue.async {
      lease.unsubscribe()
      queue.asyncAfter(deadline: .now() + delay) { lease.free() }
    }
  }

  /// Safe: cnats locks the object behind the pointer, and ``free()`` is the last use.
  private struct Lease: @unchecked Sendable {
    private let subscription: OpaquePointer
    init(_ subscription: OpaquePointer) { self.subscription = subscription }
    func unsubscribe() { _ = natsSubscription_Unsubscribe(subscription) }
    func free() { natsSubscription_Destroy(subscription) }
  }
}
