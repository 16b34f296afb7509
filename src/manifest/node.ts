/** A piece of a document with its place in the text. `end` is right behind the last character. */
export type Node = ScalarNode | MapNode | ListNode | AliasNode;

interface Base {
  readonly start: number;
  readonly end: number;
  readonly anchor: string | undefined;
}

export interface ScalarNode extends Base {
  readonly kind: 'scalar';
  /** What it says, escapes resolved. */
  readonly source: string;
  /** Written without quotes, so that `yes` and `1` mean more than their letters. */
  readonly plain: boolean;
  readonly tag: string | undefined;
}

export interface MapNode extends Base {
  readonly kind: 'map';
  readonly flow: boolean;
  readonly pairs: readonly Pair[];
}

export interface ListNode extends Base {
  readonly kind: 'list';
  readonly flow: boolean;
  readonly items: readonly Node[];
}

export interface AliasNode extends Base {
  readonly kind: 'alias';
  readonly name: string;
}

export interface Pair {
  readonly key: Node;
  /** Missing only where not even a colon stands. */
  readonly value: Node | undefined;
}
