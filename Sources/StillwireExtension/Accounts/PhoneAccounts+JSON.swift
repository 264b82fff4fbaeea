// SPDX-License-Identifier: Apache-2.0
// The accounts of a phone as the text of a file.
import Foundation
import RelayJSON
import RelayProtocol

extension PhoneAccounts {
  /// Reads the text of a file. Returns `nil` if it is not an object. Omits entries that are not valid.
  init?(reading text: some Collection<UInt8>) {
    guard let json = JSON(reading: text), json.members != nil else { return nil }
    self.init(
      accounts: (json["accounts"]?.items ?? []).compactMap(Account.init),
      signOuts: (json["signOuts"]?.items ?? []).compactMap(SignOut.init))
  }

  /// The text of a file. It contains no token and no report key.
  var text: [UInt8] {
    JSONWriter.object { object in
      object.array("accounts") { items in
        for account in accounts {
          items.object { item in
            item["user"] = account.user.rawValue
            item["device"] = account.device.rawValue
            item.bool("requested", account.isRequested)
            item["digest"] = account.registration?.digest
            item.integer("registered", account.registration.map { Int64($0.time.timeIntervalSince1970 * 1_000) })
          }
        }
      }
      object.array("signOuts") { items in
        for signOut in signOuts {
          items.object { item in
            item["user"] = signOut.user.rawValue
            item["device"] = signOut.device.rawValue
            item.bool("requested", signOut.isRequested)
          }
        }
      }
    }
  }
}

extension PhoneAccounts.Account {
  fileprivate init?(_ json: JSON) {
    guard let user: UserID = json.name("user"), let device: DeviceID = json.name("device") else { return nil }
    self.init(user: user, device: device, isRequested: json["requested"]?.flag == true)
    guard let digest = json["digest"]?.text, let time = json.time("registered") else { return }
    registration = PushRegistration.Record(
      digest: digest, time: Date(timeIntervalSince1970: Double(time.rawValue) / 1_000))
  }
}

extension PhoneAccounts.SignOut {
  fileprivate init?(_ json: JSON) {
    guard let user: UserID = json.name("user"), let device: DeviceID = json.name("device") else { return nil }
    self.init(user: user, device: device, isRequested: json["requested"]?.flag == true)
  }
}
