//! Random operations from a seed.

use crate::op::*;

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    fn is(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Folders of the root more often than what is in them.
    fn place(&mut self) -> Place {
        if self.is(60) { self.of(&PLACES[..4]) } else { self.of(&PLACES) }
    }

    fn range(&mut self) -> At {
        At(self.below(16), 1 + self.below(8))
    }

    fn modes(&mut self, percent: u64) -> Modes {
        Modes { r: self.is(percent), w: self.is(percent), d: false }
    }

    fn byte(&mut self) -> u8 {
        b'A' + self.below(26) as u8
    }

    /// One of the clients of these protocols.
    fn who(&mut self, protocols: &[Protocol]) -> Who {
        let all: Vec<Who> = Who::ALL.into_iter().filter(|who| protocols.contains(&who.protocol())).collect();
        self.of(&all)
    }

    pub fn op(&mut self) -> Op {
        use Protocol::*;
        let any = self.of(&Who::ALL);
        let (at, slot) = (self.place(), self.below(SLOTS as u64) as Slot);
        match self.below(100) {
            0..7 => Op::Make(any, at),
            7..10 => Op::MakeFolder(any, at),
            10..24 => self.open(any, at, slot),
            24..32 => Op::Read(slot, self.range()),
            32..40 => Op::Write(slot, self.range(), self.byte()),
            40..43 => Op::Truncate(slot, self.below(24)),
            43..50 => Op::Lock { slot, range: self.range(), exclusive: self.is(60) },
            50..53 => Op::Unlock(slot, self.range()),
            53..61 => Op::Close(slot),
            61..66 => Op::Rename { who: any, from: at, to: self.place(), replace: self.is(60) },
            66..70 => Op::Remove(any, if self.is(10) { LINK } else { at }),
            70..72 => Op::RemoveFolder(any, at),
            72..75 => Op::List(any, if self.is(50) { "" } else { at }),
            75 => Op::Link { who: self.who(&[Smb, Nfs3, Nfs4]), at, new: self.place() },
            76 => match self.is(50) {
                true => Op::Symlink(self.who(&[Nfs3, Nfs4])),
                false => Op::ReadLink(self.who(&[Nfs3, Nfs4])),
            },
            77..79 => Op::SetInfo(self.who(&[Smb, Afp]), at, self.byte()),
            79..81 => Op::GetInfo(self.who(&[Smb, Afp]), at),
            81..87 => self.xattr(at),
            87..89 => Op::SetDate(any, at, 1_600_000_000 + self.below(1000) as u32),
            89 => Op::SetReadOnly(self.who(&[Smb]), at, self.is(30)),
            90 => self.locked(at),
            91..96 => Op::Stat(any, at),
            96 => Op::Exchange { who: self.who(&[Afp]), one: at, other: self.place() },
            97..99 => Op::Copy { who: self.who(&[Smb, Afp, Nfs4]), from: at, to: self.place() },
            _ => match self.is(20) {
                true => Op::Lose(any),
                false => Op::Stat(any, at),
            },
        }
    }

    fn locked(&mut self, at: Place) -> Op {
        let (write, rename, delete) = (self.is(30), self.is(20), self.is(20));
        Op::SetLocked(self.who(&[Protocol::Afp]), at, LockBits { write, rename, delete })
    }

    fn open(&mut self, who: Who, at: Place, slot: Slot) -> Op {
        let (mut access, mut deny) = (self.modes(70), self.modes(15));
        if !access.r && !access.w {
            access.r = true;
        }
        let forks = matches!(who.protocol(), Protocol::Smb | Protocol::Afp);
        let fork = if forks && self.is(30) { Resource } else { Data };
        if who.protocol() == Protocol::Smb {
            (access.d, deny.d) = (fork == Data && self.is(10), self.is(15));
        }
        if who.protocol() == Protocol::Nfs3 {
            (access, deny) = (Modes { r: true, w: true, d: false }, Modes::default());
        }
        Op::Open { who, at, fork, access, deny, slot }
    }

    fn xattr(&mut self, at: Place) -> Op {
        let name = self.below(3) as usize;
        let other = if name == EA { Protocol::Nfs4 } else { Protocol::Afp };
        let who = self.who(&[Protocol::Smb, other]);
        match self.below(5) {
            0..2 => {
                // ext4 has no room for long attributes; streams are kept elsewhere then.
                let is_long = name != EA && self.is(5);
                let length = if is_long { 5000 } else { 1 + self.below(40) };
                Op::SetXattr { who, at, name, length: length as usize, byte: self.byte() }
            }
            2..4 => Op::GetXattr { who, at, name },
            _ => Op::RemoveXattr { who, at, name },
        }
    }
}

/// The operations of a seed.
pub fn operations(seed: u64, count: usize) -> Vec<Op> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.op()).collect()
}
