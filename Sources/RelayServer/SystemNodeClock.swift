// SPDX-License-Identifier: Apache-2.0
import CoreFoundation
import Foundation
import RelayCluster
import Synchronization

/// The time of a node.
final class SystemNodeClock: NodeClock {
  /// A mutex, and a condition on the monotonic clock: `NSCondition` uses the time of day, and a time of day that is set
  /// back would then stop the heartbeats of a leader.
  private struct Parts {
    var mutex = pthread_mutex_t()
    var condition = pthread_cond_t()
    var isStopped = false
  }

  // Safe: the parts have a constant address, and `mutex` protects `isStopped`.
  nonisolated(unsafe) private let parts: UnsafeMutablePointer<Parts>

  init() {
    parts = .allocate(capacity: 1)
    parts.initialize(to: Parts())
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(&parts.pointee.condition, &attributes)
    pthread_condattr_destroy(&attributes)
    pthread_mutex_init(&parts.pointee.mutex, nil)
  }

  deinit {
    pthread_cond_destroy(&parts.pointee.condition)
    pthread_mutex_destroy(&parts.pointee.mutex)
    parts.deallocate()
  }

  var reading: PauseDetector.Reading {
    let time = Date().timeIntervalSince1970
    return PauseDetector.Reading(clock: .now, timeOfDay: .milliseconds(Int64(time * 1000)))
  }

  func wait(_ time: Duration) -> Bool {
    var end = timespec()
    clock_gettime(CLOCK_MONOTONIC, &end)
    let (seconds, attoseconds) = time.components
    let nanoseconds = end.tv_nsec + Int(attoseconds / 1_000_000_000)
    end.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
    end.tv_nsec = nanoseconds % 1_000_000_000
    pthread_mutex_lock(&parts.pointee.mutex)
    defer { pthread_mutex_unlock(&parts.pointee.mutex) }
    while !parts.pointee.isStopped, time > .zero,
      pthread_cond_timedwait(&parts.pointee.condition, &parts.pointee.mutex, &end) != ETIMEDOUT
    {}
    return !parts.pointee.isStopped
  }

  /// Ends all waits, now and later.
  func stop() {
    pthread_mutex_lock(&parts.pointee.mutex)
    parts.pointee.isStopped = true
    pthread_cond_broadcast(&parts.pointee.condition)
    pthread_mutex_unlock(&parts.pointee.mutex)
  }

  func random(upTo limit: Duration) -> Duration { limit * Double.random(in: 0...1) }

  func gid() -> String {
    let (high, low) = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
    return String(high, radix: 36) + String(low, radix: 36)
  }
}
