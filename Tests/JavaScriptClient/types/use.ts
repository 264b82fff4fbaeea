// SPDX-License-Identifier: Apache-2.0
// Code that an app may write. It is compiled and never run, and each expected error must occur.
import { Reporter, Stillwire, StillwireError, isSilenced, noPresence, presenceAfter, quoteAfter } from '../../../web/client/stillwire.js'
import type { Message, Presence, Room } from '../../../web/client/stillwire.js'

const relay = new Stillwire(new URL('wss://relay.example.org/v1/connect'), {
  token: async ({ isExpired }) => (isExpired ? 'new' : 'cached'),
  hello: () => ({ device: 'laptop' }),
  timeout: 5,
  page: null,
})
relay.addEventListener('state', ({ detail }) => {
  const delay: number | undefined = detail.delay
  // @ts-expect-error a state is one of five
  if (detail.state === 'lost') console.log(delay)
})
new Stillwire(['wss://a.example.org/v1/connect', new URL('wss://b.example.org/v1/connect')])
// @ts-expect-error there is no such event
relay.addEventListener('stat', () => {})

relay.addEventListener('welcome', ({ detail }) => {
  const open: number = detail.invitations ?? 0
  // @ts-expect-error the number is absent for 0
  const count: number = detail.invitations
  console.log(open, count, detail.limits.invitations)
})
relay.addEventListener('invitation', ({ detail }) => {
  if (detail.event === 'added') console.log(detail.by.name ?? detail.by.user, detail.title, detail.members + 1)
  else console.log(detail.cause === 'withdrawn')
  // @ts-expect-error an invitation that has ended has no inviter
  if (detail.event === 'ended') console.log(detail.by)
})

export async function app(): Promise<void> {
  const tea: Room = relay.room('tea', { history: 20 })
  tea.addEventListener('presence', ({ detail }) => {
    const presence: Presence = detail
    // @ts-expect-error null in large rooms
    console.log(presence.members.ann)
    console.log(isSilenced(presence.members?.ann))
  })
  tea.addEventListener('reset', ({ detail: { reason } }) => console.log(reason === 'gap'))
  relay.connect()
  const status = await relay.setStatus({ text: 'Lunch', until: Date.now() + 3_600_000 })
  console.log(status?.emoji, tea.presence.members?.ann?.status?.text)
  // @ts-expect-error a status is not a text
  await relay.setStatus('Lunch')
  await tea.join()
  const reply = await tea.send({ text: 'hi' }, { mentions: ['bob'], push: false, signal: new AbortController().signal })
  console.log(reply.delivery?.quiet.includes('bob'), reply.seq + 1)
  for await (const message of tea.messages({ limit: 10 })) {
    const own: Message = message
    // @ts-expect-error a message is the app's to read alone
    own.seq = 1
    if (own.isAfterGap) await tea.history({ before: own.seq, limit: 50 })
    tea.read(own.seq)
    tea.addEventListener('edited', ({ detail }) => console.log(quoteAfter(own.quote, detail)?.preview?.length))
    // @ts-expect-error a message that is no reply has no quote
    console.log(own.quote.from)
  }
  console.log((await tea.send('here', { replyTo: 1 })).quote?.deleted)
  try {
    await relay.request('watch', { users: ['bob'] })
  } catch (error) {
    if (error instanceof StillwireError && error.isTemporary) console.log(error.retryAfter, error.until)
  }
  await tea.pin(1)
  console.log((await tea.pins()).pins[0]?.preview, (await tea.unpin(1)).pinned)
  await tea.restrict('bob', Date.now() + 3_600_000)
  // @ts-expect-error null ends a restriction
  await tea.restrict('bob')
  await tea.setReadOnly(true)
  const { report } = await tea.report(1, 'spam')
  const { reports, more } = await tea.reports({ state: 'open', limit: 10 })
  // @ts-expect-error a report has one of three states
  await tea.resolve(report, 'closed')
  console.log((await tea.resolve(report)).closed, reports[0]?.by, more, tea.presence.members?.bob?.restrictedUntil)
  const { invitations, next } = await relay.invitations({ limit: 10 })
  for (const { room, kind } of invitations) {
    if (kind === 'direct') await relay.declineInvitation(room)
    else console.log((await relay.acceptInvitation(room)).memberCount + 1)
  }
  if (next) await relay.invitations({ after: next })
  // @ts-expect-error a room accepts an invitation, not an object
  await relay.acceptInvitation(invitations[0])
  relay.setActivity('idle')
  relay.setActivity(null)
  // @ts-expect-error there is no such activity
  relay.setActivity('asleep')
  await relay.setFocus(null, { device: 'phone' })
  console.log(presenceAfter(noPresence, { type: 'counts', memberCount: 1 }).memberCount)
  await tea.leave({ stay: true })
  const { reportKey } = await relay.request('device', { device: 'phone', platform: 'simulator', token: 'a' })
  const reporter = new Reporter(['https://a.example.org', 'https://b.example.org'], reportKey)
  const applied: boolean = (await reporter.focus(true, { source: 'manual' })).applied
  // @ts-expect-error a filter is active or not
  await reporter.filter({ allow: ['work'] })
  if (applied) await reporter.respond('id', { action: 'accept' })
  relay.close()
}
