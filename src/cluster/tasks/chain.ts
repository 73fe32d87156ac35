/**
 * Short linked lists whose members hold their own link: the runs and sendings of a task. A chain is identified by its
 * first member; the functions return the new first one. Operations walk the chain, so its owner must bound it.
 */

/** A member of a chain. */
export interface Link<Self> {
  next: Self | undefined;
}

/** The chain with `member` at its end. */
export function appended<Member extends Link<Member>>(first: Member | undefined, member: Member): Member {
  member.next = undefined;
  if (first === undefined) return member;
  let last = first;
  while (last.next !== undefined) last = last.next;
  last.next = member;
  return first;
}

/** The chain without `member`, whose own link is unchanged. */
export function without<Member extends Link<Member>>(first: Member, member: Member): Member | undefined {
  if (first === member) return member.next;
  let before = first;
  while (before.next !== undefined && before.next !== member) before = before.next;
  if (before.next === member) before.next = member.next;
  return first;
}

export function lengthOf<Member extends Link<Member>>(first: Member | undefined): number {
  let length = 0;
  for (let member = first; member !== undefined; member = member.next) length += 1;
  return length;
}

/** The first member that satisfies the condition. */
export function find<Member extends Link<Member>>(
  first: Member | undefined,
  condition: (member: Member) => boolean,
): Member | undefined {
  let member = first;
  while (member !== undefined && !condition(member)) member = member.next;
  return member;
}
