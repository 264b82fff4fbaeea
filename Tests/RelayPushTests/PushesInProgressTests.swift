// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import RelayStore
import Testing

@testable import RelayPush

@Suite struct PushesInProgressTests {
  private static let lanes = ["x", "y"].map { app in
    Lane(of: Device(id: DeviceID(unchecked: "phone"), app: app, platform: .apns, token: "token"))
  }
  private var inProgress = PushesInProgress()

  private mutating func begin(jobs: Int, updates: Int, in lane: Lane = lanes[0]) {
    for number in 0..<jobs { inProgress.begin("job \(number)", in: lane) }
    for number in 0..<updates { inProgress.begin("update \(number)", in: lane.forUpdates) }
  }

  @Test(arguments: [
    (1, 0, 255, 64), (0, 1, 255, 63), (0, 64, 192, 0), (100, 64, 92, 0), (191, 0, 65, 64), (192, 0, 64, 64),
    (193, 0, 63, 63), (200, 10, 46, 46), (255, 0, 1, 1), (256, 0, 0, 0), (192, 64, 0, 0), (300, 70, 0, 0),
  ])
  mutating func `jobs and updates share the capacity of a lane, and updates have their own limit`(
    jobs: Int, updates: Int, capacity: Int, updateCapacity: Int
  ) {
    begin(jobs: jobs, updates: updates)
    #expect(inProgress.capacity == [Self.lanes[0]: capacity, Self.lanes[0].forUpdates: updateCapacity])
    #expect(inProgress.ids.count == jobs + updates)
  }

  @Test mutating func `a full lane does not reduce the capacity of other lanes`() {
    begin(jobs: 256, updates: 0)
    inProgress.begin("other", in: Self.lanes[1])
    let (full, other) = (Self.lanes[0], Self.lanes[1])
    #expect(inProgress.capacity == [full: 0, full.forUpdates: 0, other: 255, other.forUpdates: 64])
  }

  @Test(arguments: [(256, 0, true), (255, 0, false), (0, 64, true), (0, 63, false), (192, 64, true), (1, 1, false)])
  mutating func `an end says whether the lane was full`(jobs: Int, updates: Int, wasFull: Bool) {
    begin(jobs: jobs, updates: updates)
    let lane = updates > 0 ? Self.lanes[0].forUpdates : Self.lanes[0]
    let ends = [updates > 0 ? "update 0" : "job 0", "other"].map { inProgress.end($0, in: lane) }
    #expect(ends == [wasFull, false])
  }

  @Test mutating func `the list is empty after the last push ends`() {
    begin(jobs: 1, updates: 1)
    inProgress.end("update 0", in: Self.lanes[0].forUpdates)
    #expect(inProgress.capacity[Self.lanes[0].forUpdates] == 64)
    #expect(inProgress.ids == ["job 0"] && !inProgress.isEmpty)
    inProgress.end("job 0", in: Self.lanes[0])
    #expect(inProgress.capacity.isEmpty && inProgress.isEmpty)
  }

  @Test mutating func `repeated starts and ends of a push have no effect`() {
    inProgress.begin("one", in: Self.lanes[0].forUpdates)
    inProgress.begin("one", in: Self.lanes[0].forUpdates)
    #expect(inProgress.capacity[Self.lanes[0].forUpdates] == 63)
    begin(jobs: 1, updates: 0)
    for _ in 0..<2 { inProgress.end("one", in: Self.lanes[0].forUpdates) }
    #expect(inProgress.capacity[Self.lanes[0]] == 255)
  }
}
