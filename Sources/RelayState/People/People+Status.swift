// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
package import RelayHub
package import RelayProtocol
import RelayStore

/// The status of a user.
extension People {
  /// Replaces the status of a user, and then publishes the change to all who may see whether the user is online.
  /// - Parameter status: Is `nil` to end the status.
  /// - Returns: The status as it is shown now.
  package func change(
    status: UserStatus?, of user: UserHandle, requester: SessionHandle?, on core: isolated Core
  ) async throws -> UserStatus? {
    var recipient = recipients[user]
    recipient.status = status
    try await change(user, to: recipient, requester: requester, on: core) { try $0.people.save(status, of: $1) }
    return recipients[user].status
  }
}
