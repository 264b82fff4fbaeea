// SPDX-License-Identifier: Apache-2.0

/// A sequence of messages, events or people from its creation on, for one reader.
///
/// It buffers at most `limit` elements, and loses the oldest ones beyond that. The loss is visible to the reader:
/// - of messages: the next one has ``Message/isAfterGap``
/// - of events: ``Event/missed`` replaces the lost ones
/// - of people: only the newest state is buffered
///
/// The sequence ends when the reading task is cancelled, or when the client is released.
public struct Subscription<Element: Sendable>: AsyncSequence, Sendable {
  public typealias Failure = Never

  let mailbox: Mailbox<Element>

  public struct AsyncIterator: AsyncIteratorProtocol {
    let mailbox: Mailbox<Element>

    public mutating func next() async -> Element? { await mailbox.next() }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? { await mailbox.next() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(mailbox: mailbox) }
}
