// SPDX-License-Identifier: Apache-2.0

/// What happens from when the sequence was made on, in its order, for one reader.
///
/// At most `limit` elements wait to be taken. Beyond, the oldest are lost, and the sequence says so: of messages the next
/// one ``Message/isAfterGap``, of events ``Event/missed`` stands for them, and of people only the newest state counts.
/// It ends when the reading task is cancelled, and when nobody holds the client any more.
public struct Told<Element: Sendable>: AsyncSequence, Sendable {
  public typealias Failure = Never

  let mailbox: Mailbox<Element>

  public struct AsyncIterator: AsyncIteratorProtocol {
    let mailbox: Mailbox<Element>

    public mutating func next() async -> Element? { await mailbox.next() }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? { await mailbox.next() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(mailbox: mailbox) }
}
