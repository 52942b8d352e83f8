use super::*;

const FOLDER: FileId = FileId::new(1, 2);

/// Servers, and the messages between them, which arrive at once or not at all.
struct Cluster(BTreeMap<u16, Sums>);

impl Cluster {
    fn new(servers: &[(u16, i64)]) -> Self {
        let start = |(me, own): &(u16, i64)| {
            let mut sums = Sums::new(*me);
            sums.keep(&[(FOLDER, *own)]);
            (*me, sums)
        };
        let mut cluster = Self(servers.iter().map(start).collect());
        cluster.adopt(&[]);
        cluster
    }

    fn adopt(&mut self, ended: &[u16]) {
        let members: Vec<u16> = self.0.keys().copied().collect();
        let said: Vec<_> =
            self.0.iter_mut().map(|(me, sums)| (*me, sums.adopt(members.clone(), ended))).collect();
        said.into_iter().for_each(|(from, message)| self.say(from, &message));
    }

    fn say(&mut self, from: u16, message: &SumsMessage) {
        for (_, sums) in self.0.iter_mut().filter(|(to, _)| **to != from) {
            match message {
                SumsMessage::Totals(totals) => sums.totals(from, totals),
                SumsMessage::Sums(known) => sums.sums(from, known),
                other => panic!("{other:?}"),
            }
        }
    }

    fn change(&mut self, at: u16, total: i64) {
        let message = self.0.get_mut(&at).unwrap().change(&[(FOLDER, total)]);
        message.into_iter().for_each(|message| self.say(at, &message));
    }

    /// The sum, which all servers agree on.
    fn sum(&self) -> i64 {
        let of = |(me, sums): (&u16, &Sums)| {
            let own = sums.folders[&FOLDER].totals.get(me).copied().unwrap_or(0);
            sums.elsewhere()[0].1.bytes + own
        };
        let all: Vec<i64> = self.0.iter().map(of).collect();
        assert!(all.iter().all(|sum| *sum == all[0]), "{all:?}");
        all[0]
    }

    fn is_exact(&self) -> bool {
        let all: Vec<bool> = self.0.values().map(|sums| sums.elsewhere()[0].1.is_exact).collect();
        assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
        all[0]
    }

    fn count(&mut self, at: u16, bytes: u64) {
        let starts: Vec<_> =
            self.0.iter().map(|(me, sums)| (*me, sums.folders[&FOLDER].totals[me])).collect();
        let message = self.0.get_mut(&at).unwrap().counted(FOLDER, bytes, true, &starts).unwrap();
        self.say(at, &message);
    }
}

#[test]
fn what_one_server_changes_is_in_the_sum_of_all() {
    let mut cluster = Cluster::new(&[(1, 100), (2, 70)]);
    assert_eq!(cluster.sum(), 100, "that of the lowest number, as nothing was counted");
    cluster.change(1, 50);
    cluster.change(2, -30);
    cluster.change(1, 60); // a total, not a difference
    assert_eq!((cluster.sum(), cluster.is_exact()), (130, false));
    assert_eq!(cluster.0.get_mut(&1).unwrap().change(&[(FOLDER, 60)]), None, "nothing is new");
    assert!(cluster.0[&1].is_counter() && !cluster.0[&2].is_counter());
}

#[test]
fn a_count_replaces_what_was_known_and_later_changes_are_added() {
    let mut cluster = Cluster::new(&[(1, 0), (2, 0), (3, 0)]);
    [1, 2, 3].into_iter().for_each(|server| cluster.change(server, 10));
    cluster.count(1, 1000);
    assert_eq!((cluster.sum(), cluster.is_exact()), (1000, true));
    cluster.change(2, 15);
    cluster.change(3, 4);
    assert_eq!(cluster.sum(), 1000 + 5 - 6);
}

#[test]
fn a_server_that_joins_has_the_sum_and_one_that_leaves_takes_nothing_with_it() {
    let mut cluster = Cluster::new(&[(1, 0), (2, 0)]);
    [1, 2].into_iter().for_each(|server| cluster.change(server, 10));
    cluster.count(1, 1000);
    cluster.change(2, 20);
    let mut joins = Sums::new(3);
    joins.keep(&[(FOLDER, 5)]); // of a time when it was alone
    cluster.0.insert(3, joins);
    cluster.adopt(&[]);
    assert_eq!((cluster.sum(), cluster.is_exact()), (1010, true));
    cluster.change(3, 7);
    cluster.0.remove(&1);
    cluster.adopt(&[1]);
    assert_eq!((cluster.sum(), cluster.is_exact()), (1017, true), "it has told all");
    cluster.change(2, 21);
    cluster.0.remove(&2);
    cluster.adopt(&[]);
    assert_eq!((cluster.sum(), cluster.is_exact()), (1018, false), "it may have changed more");
    assert!(cluster.0[&3].is_counter());
    cluster.count(3, 2000);
    assert_eq!((cluster.sum(), cluster.is_exact()), (2000, true));
}

#[test]
fn servers_that_have_heard_different_last_words_of_a_lost_one_agree_again() {
    let mut cluster = Cluster::new(&[(1, 0), (2, 0), (3, 0)]);
    [1, 2, 3].into_iter().for_each(|server| cluster.change(server, 10));
    cluster.count(1, 100);
    cluster.0.get_mut(&2).unwrap().totals(3, &[(FOLDER, 500)]); // the first server has not heard it
    cluster.0.remove(&3);
    cluster.adopt(&[]);
    assert_eq!((cluster.sum(), cluster.is_exact()), (100, false));
}

#[test]
fn a_count_that_not_all_have_heard_of_counts_in_the_next_epoch() {
    let mut cluster = Cluster::new(&[(1, 0), (2, 0), (3, 0)]);
    [1, 2, 3].into_iter().for_each(|server| cluster.change(server, 10));
    cluster.count(1, 100);
    let starts = [(1, 10), (2, 10), (3, 10)];
    let _unheard = cluster.0.get_mut(&2).unwrap().counted(FOLDER, 300, true, &starts);
    cluster.adopt(&[]);
    assert_eq!(cluster.sum(), 300);
}

#[test]
fn messages_of_servers_that_have_left_and_too_many_folders_are_not_taken() {
    let mut sums = Sums::new(1);
    sums.keep(&[(FOLDER, 10)]);
    sums.adopt(vec![1, 2], &[]);
    sums.totals(9, &[(FOLDER, 1)]);
    assert_eq!(sums.elsewhere()[0].1.bytes, 10);
    let folder = |number| FileId::new(3, number);
    let many: Vec<_> = (0..20_000).map(|number| (folder(number), 1)).collect();
    sums.totals(2, &many);
    assert_eq!((sums.folders.len(), sums.elsewhere().len()), (2 * MOST_FOLDERS, 1));
}
