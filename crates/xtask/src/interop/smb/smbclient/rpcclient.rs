//! Samba's client of the named pipes.

use anyhow::{Context, Result, ensure};

use super::{Clients, LIMIT};
use crate::interop::outcome::Outcomes;
use crate::process;

/// The number of ada, whose uid is 61001, as Samba computes it.
const ADA: u32 = 1000 + 2 * 61001;

/// Commands that ask for the server, and a part of what they print.
const SERVER: &[(&str, &str)] = &[
    ("srvinfo", "platform_id"),
    ("netshareenumall", "netname: files"),
    ("netsharegetinfo files", "netname: files"),
    ("lsaquery", "Domain Sid"),
    ("lookupnames ada", "(User: 1)"),
    ("wkssvc_wkstagetinfo", ""), // it prints nothing when it succeeds
];

pub fn run(outcomes: &mut Outcomes, clients: &Clients<'_>) {
    for (command, wanted) in SERVER {
        expect(outcomes, clients, command, wanted);
    }
    outcomes.run("rpcclient: lookupsids finds the name again", &["rpcclient"], || {
        let text = clients.ask("lookupnames ada")?;
        let sid = text.split_whitespace().find(|word| word.starts_with("S-1-")).context(text.clone())?;
        let again = clients.ask(&format!("lookupsids {sid}"))?;
        ensure!(again.contains("\\ada (1)"), "it says {again:?}");
        Ok(())
    });
    accounts(outcomes, clients);
}

/// `samr`: the accounts, as Windows' "Select Users or Groups" lists them.
fn accounts(outcomes: &mut Outcomes, clients: &Clients<'_>) {
    let queries: &[(String, &str)] = &[
        ("enumdomains".into(), "name:[Builtin]"),
        ("enumdomusers".into(), &format!("user:[ada] rid:[{ADA:#x}]")),
        ("enumdomgroups".into(), "group:[None] rid:[0x201]"),
        ("enumalsgroups builtin".into(), "group:[Administrators] rid:[0x220]"),
        (format!("queryuser {ADA}"), "User Name   :\tada"),
        (format!("queryusergroups {ADA}"), "group rid:[0x201] attr:[0x7]"),
        ("querygroup 0x201".into(), "Group Name:\tNone"),
        ("querygroupmem 0x201".into(), &format!("rid:[{ADA:#x}]")),
        ("queryaliasmem builtin 0x221".into(), "sid:[S-1-5-11]"),
        ("querydispinfo".into(), "Account: ada"),
        ("querydispinfo3 3".into(), "None"),
        ("querydominfo".into(), "Server Role:\tROLE_DOMAIN_PDC"),
        ("querydominfo 12".into(), "Lockout"),
        ("samlookupnames domain ada".into(), "name ada:"),
        (format!("samlookuprids domain {ADA}"), "ada (1)"),
        ("getdompwinfo".into(), "min_password_length: 0"),
        (format!("getusrdompwinfo {ADA}"), "min_password_length"),
        ("samquerysecobj".into(), "S-1-5-11"),
    ];
    for (command, wanted) in queries {
        expect(outcomes, clients, command, wanted);
    }
    outcomes.run("rpcclient: createdomuser is refused", &["rpcclient"], || {
        let output = process::output("rpcclient", &clients.arguments("createdomuser carol"), LIMIT)?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(!output.status.success() && said.contains("NT_STATUS_ACCESS_DENIED"), "it says {said:?}");
        Ok(())
    });
}

fn expect(outcomes: &mut Outcomes, clients: &Clients<'_>, command: &str, wanted: &str) {
    outcomes.run(&format!("rpcclient: {command}"), &["rpcclient"], || {
        let text = clients.ask(command)?;
        ensure!(text.contains(wanted), "it says {text:?}");
        Ok(())
    });
}

impl Clients<'_> {
    /// What a command prints.
    fn ask(&self, command: &str) -> Result<String> {
        process::stdout_of("rpcclient", &self.arguments(command), LIMIT)
    }

    fn arguments<'a>(&'a self, command: &'a str) -> [&'a str; 9] {
        ["127.0.0.1", "-s", &self.configuration, "-p", &self.port, "-U", &self.login, "-c", command]
    }
}
