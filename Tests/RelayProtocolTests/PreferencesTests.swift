// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@Suite struct PreferencesTests {
  private static let team = RoomID(unchecked: "team")
  private static let news = RoomID(unchecked: "news")

  private static let defaults =
    #"{"onFocus":"deliver","rooms":{},"shareFocus":"rooms","shareOnline":"watchers"}"#

  private static let all = """
    {"breakThrough":{"mentions":true,"users":["ann","cem"]},"onFocus":"hold","pushUnreadAfter":60,"quietCalls":true,\
    "quietHours":{"days":[1,2,7],"from":"22:00","mode":"passive","timeZone":"Europe/Zurich","to":"06:30"},\
    "quietTimeSensitive":true,\
    "rooms":{"news":{"level":"none","until":1700000000000},"team":{"criteria":"work","level":"mentions"}},\
    "shareFocus":"none","shareOnline":"rooms"}
    """

  @Test(arguments: [defaults, all])
  func `preferences have the JSON form of the protocol`(json: String) throws {
    #expect(try coded(decoded(json, Preferences.self)) == json)
  }

  @Test func `quiet hours without a time zone follow the devices`() throws {
    let json = #"{"days":[1],"from":"22:00","mode":"hold","to":"06:30"}"#
    let hours: QuietHours = try decoded(json)
    #expect(hours.timeZone == nil)
    #expect(try coded(hours) == json)
  }

  @Test func `a user without preferences has the defaults`() throws {
    #expect(try decoded("{}") == Preferences())
    #expect(try coded(Preferences()) == Self.defaults)
  }

  @Test func `each member of the JSON sets its preference`() throws {
    let preferences: Preferences = try decoded(Self.all)
    #expect(preferences.onFocus == .hold)
    #expect(preferences.shareFocus == .none)
    #expect(preferences.shareOnline == .rooms)
    #expect(preferences[Self.team] == RoomPreference(level: .mentions, criteria: "work"))
    #expect(preferences[Self.news] == RoomPreference(level: .none, until: Timestamp(rawValue: 1_700_000_000_000)))
    let hours = try #require(preferences.quietHours)
    #expect(hours.from == TimeOfDay("22:00"))
    #expect(hours.to == TimeOfDay("06:30"))
    #expect(hours.days == [1, 2, 7])
    #expect(hours.timeZone == "Europe/Zurich")
    #expect(hours.mode == .passive)
    let (ann, cem) = (UserID(unchecked: "ann"), UserID(unchecked: "cem"))
    #expect(preferences.breakThrough == BreakThrough(users: [cem, ann, cem], mentions: true))
    #expect(preferences.quietCalls && preferences.quietTimeSensitive && preferences.pushUnreadAfter == 60)
  }

  @Test(arguments: [
    #"{"onFocus":"loud"}"#, #"{"rooms":{"a room":{}}}"#, #"{"rooms":{"team":{"level":"some"}}}"#,
    #"{"shareFocus":true}"#, #"{"quietHours":{"from":"22:00"}}"#,
  ])
  func `unknown values are an error`(json: String) {
    #expect(throws: DecodingError.self) { try decoded(json, Preferences.self) }
  }

  @Test func `a room entry that equals the default is removed`() throws {
    var preferences: Preferences = try decoded(#"{"rooms":{"team":{},"news":{"level":"all","until":5}}}"#)
    #expect(preferences == Preferences())
    preferences[Self.team].level = .none
    preferences[Self.news].criteria = "news"
    #expect(preferences.rooms.count == 2)
    preferences[Self.team].level = .all
    #expect(preferences.rooms == [Self.news: RoomPreference(criteria: "news")])
    preferences[Self.news].criteria = nil
    #expect(preferences == Preferences())
    preferences[Self.team] = RoomPreference()
    preferences[Self.news] = RoomPreference(level: .mentions)
    #expect(preferences.rooms.keys.map(\.rawValue) == ["news"])
  }

  @Test(arguments: [
    (Int64?.none, Int64(0), RoomLevel.none), (10, 9, .none), (10, 10, .all), (10, 11, .all),
  ])
  func `a level lasts until its time`(until: Int64?, now: Int64, level: RoomLevel) {
    let preference = RoomPreference(level: .none, until: until.map(Timestamp.init(rawValue:)))
    #expect(preference.level(at: Timestamp(rawValue: now)) == level)
  }

  @Test func `the maximum of several modes is the strongest`() {
    #expect(SilenceMode.allCases == SilenceMode.allCases.sorted())
    #expect(SilenceMode.allCases.max() == .hold)
    #expect([SilenceMode.deliver, .passive].max() == .passive)
  }

  @Test func `equal quiet hours have equal JSON`() throws {
    for _ in 0..<20 {
      let hours: QuietHours = try decoded(
        #"{"from":"00:00","to":"00:00","days":[7,3,1,6,5,2,4],"timeZone":"UTC","mode":"hold"}"#)
      #expect(
        try coded(hours) == #"{"days":[1,2,3,4,5,6,7],"from":"00:00","mode":"hold","timeZone":"UTC","to":"00:00"}"#)
    }
  }
}
