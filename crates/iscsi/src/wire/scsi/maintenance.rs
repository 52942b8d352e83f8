//! MAINTENANCE IN: the capabilities and the identification of the target. Its commands share most
//! of their fields.

use wire::{Malformed, Reader, Writer};

/// The fields of four commands; each command uses some of them: SPC-4 6.30, 6.35, 6.36 and 6.37.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaintenanceIn {
    /// Service action.
    pub action: u8,
    /// Bits 5 to 7 of byte 1: PARAMETER DATA FORMAT of REPORT TARGET PORT GROUPS.
    pub format: u8,
    /// Byte 2: options of the two commands that report supported functions.
    pub options: u8,
    /// REQUESTED OPERATION CODE.
    pub opcode: u8,
    /// REQUESTED SERVICE ACTION.
    pub of_action: u16,
    /// The allocation length.
    pub allocation_length: u32,
    /// Byte 10: IDENTIFYING INFORMATION TYPE of REPORT IDENTIFYING INFORMATION, in bits 1 to 7.
    pub kind: u8,
}

impl MaintenanceIn {
    /// REPORT IDENTIFYING INFORMATION.
    pub const IDENTIFYING_INFORMATION: u8 = 0x05;
    /// REPORT TARGET PORT GROUPS.
    pub const TARGET_PORT_GROUPS: u8 = 0x0a;
    /// REPORT SUPPORTED OPERATION CODES.
    pub const OPERATION_CODES: u8 = 0x0c;
    /// REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS.
    pub const TASK_MANAGEMENT: u8 = 0x0d;

    /// From a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?;
        let (action, options, opcode) = (r.u8()?, r.u8()?, r.u8()?);
        let (of_action, allocation_length, kind) = (r.u16_be()?, r.u32_be()?, r.u8()?);
        let (action, format) = (action & 0x1f, action >> 5);
        Ok(Self { action, format, options, opcode, of_action, allocation_length, kind: kind >> 1 })
    }

    /// As a descriptor block.
    pub fn encode(&self, w: &mut Writer) {
        w.put(&[0xa3, self.format << 5 | self.action & 0x1f, self.options, self.opcode]);
        w.u16_be(self.of_action);
        w.u32_be(self.allocation_length);
        w.put(&[self.kind << 1, 0]);
    }
}

/// The most commands or groups that are read.
const MOST: usize = 1024;

/// The timeouts of a command, SPC-4 6.35.4. Zero stands for an unspecified one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timeouts {
    /// NOMINAL COMMAND PROCESSING TIMEOUT, in seconds.
    pub nominal_s: u32,
    /// RECOMMENDED COMMAND TIMEOUT, in seconds.
    pub recommended_s: u32,
}

impl Timeouts {
    fn encode(&self, w: &mut Writer) {
        w.u16_be(10);
        w.put(&[0, 0]);
        w.u32_be(self.nominal_s);
        w.u32_be(self.recommended_s);
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(4)?;
        Ok(Self { nominal_s: r.u32_be()?, recommended_s: r.u32_be()? })
    }
}

/// A supported command, SPC-4 6.35.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SupportedCommand {
    /// OPERATION CODE.
    pub opcode: u8,
    /// SERVICE ACTION, if it has one.
    pub action: Option<u16>,
    /// Bytes of the descriptor block.
    pub length: u16,
    /// The timeouts, if they were requested.
    pub timeouts: Option<Timeouts>,
}

/// All supported commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupportedCommands(pub Vec<SupportedCommand>);

impl SupportedCommands {
    /// The bytes.
    pub fn encode(&self, w: &mut Writer) {
        let at = w.len();
        w.u32_be(0);
        for command in &self.0 {
            w.put(&[command.opcode, 0]);
            w.u16_be(command.action.unwrap_or(0));
            w.put(&[0, u8::from(command.timeouts.is_some()) << 1 | u8::from(command.action.is_some())]);
            w.u16_be(command.length);
            command.timeouts.iter().for_each(|timeouts| timeouts.encode(w));
        }
        w.patch_u32_be(at, (w.len() - at - 4) as u32);
    }

    /// From the bytes.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let length = r.u32_be()? as usize;
        let mut r = Reader::new(r.take(length)?);
        let mut all = Vec::new();
        while r.remaining() > 0 && all.len() < MOST {
            let (opcode, _, action) = (r.u8()?, r.u8()?, r.u16_be()?);
            let (_, flags, length) = (r.u8()?, r.u8()?, r.u16_be()?);
            let timeouts = if flags & 2 != 0 { Some(Timeouts::decode(&mut r)?) } else { None };
            all.push(SupportedCommand {
                opcode,
                action: (flags & 1 != 0).then_some(action),
                length,
                timeouts,
            });
        }
        Ok(Self(all))
    }
}

/// Whether one command is supported, SPC-4 6.35.3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneCommand {
    /// CDB USAGE DATA: the bits that the server evaluates. `None`: the command is not supported.
    pub usage: Option<Vec<u8>>,
    /// The timeouts, if they were requested.
    pub timeouts: Option<Timeouts>,
}

impl OneCommand {
    /// SUPPORT: the command is not supported.
    const NOT: u8 = 1;
    const AS_SPECIFIED: u8 = 3;

    /// The bytes.
    pub fn encode(&self, w: &mut Writer) {
        let support = if self.usage.is_some() { Self::AS_SPECIFIED } else { Self::NOT };
        let usage = self.usage.as_deref().unwrap_or_default();
        w.put(&[0, u8::from(self.timeouts.is_some()) << 7 | support]);
        w.u16_be(u16::try_from(usage.len()).unwrap_or(u16::MAX));
        w.put(usage.get(..usize::from(u16::MAX)).unwrap_or(usage));
        self.timeouts.iter().for_each(|timeouts| timeouts.encode(w));
    }

    /// From the bytes.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?;
        let (flags, length) = (r.u8()?, r.u16_be()?);
        let usage = r.take(usize::from(length))?.to_vec();
        let timeouts = if flags & 0x80 != 0 { Some(Timeouts::decode(r)?) } else { None };
        Ok(Self { usage: (flags & 7 != Self::NOT).then_some(usage), timeouts })
    }
}

/// The supported task management functions, SPC-4 6.36: bits as in its table 293.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskFunctions(pub u16);

#[allow(missing_docs, reason = "named as in SPC-4 table 293")]
impl TaskFunctions {
    pub const ABORT_TASK: u16 = 0x8000;
    pub const ABORT_TASK_SET: u16 = 0x4000;
    pub const CLEAR_TASK_SET: u16 = 0x1000;
    pub const LOGICAL_UNIT_RESET: u16 = 0x0800;
    pub const QUERY_TASK: u16 = 0x0400;
    pub const TARGET_RESET: u16 = 0x0200;
    pub const QUERY_TASK_SET: u16 = 0x0002;
    pub const I_T_NEXUS_RESET: u16 = 0x0001;

    /// The bytes: four, or with REPD sixteen, without timeouts.
    pub fn encode(&self, extended: bool, w: &mut Writer) {
        w.u16_be(self.0);
        w.put(&[0, if extended { 12 } else { 0 }]);
        w.zeros(if extended { 12 } else { 0 });
    }

    /// From the bytes.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self(r.u16_be()?))
    }
}

/// A target port group, SPC-4 6.37, and the ports in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortGroup {
    /// PREF: it is preferred.
    pub preferred: bool,
    /// ASYMMETRIC ACCESS STATE: 0 is active and optimised.
    pub state: u8,
    /// The possible states, as bits: 1 is active and optimised.
    pub states: u8,
    /// TARGET PORT GROUP.
    pub number: u16,
    /// RELATIVE TARGET PORT IDENTIFIERs.
    pub ports: Vec<u16>,
}

/// All target port groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortGroups {
    /// IMPLICIT TRANSITION TIME, in seconds, if the header is extended.
    pub transition_s: Option<u8>,
    /// The groups.
    pub groups: Vec<PortGroup>,
}

impl PortGroups {
    /// The bytes.
    pub fn encode(&self, w: &mut Writer) {
        let at = w.len();
        w.u32_be(0);
        if let Some(seconds) = self.transition_s {
            w.put(&[0x10, seconds, 0, 0]);
        }
        for group in &self.groups {
            w.put(&[u8::from(group.preferred) << 7 | group.state & 0xf, group.states]);
            w.u16_be(group.number);
            let ports = &group.ports[..group.ports.len().min(usize::from(u8::MAX))];
            w.put(&[0, 0, 0, ports.len() as u8]);
            ports.iter().for_each(|port| w.u32_be(u32::from(*port)));
        }
        w.patch_u32_be(at, (w.len() - at - 4) as u32);
    }

    /// From the bytes, with the header that was asked for.
    pub fn decode(extended: bool, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let length = r.u32_be()? as usize;
        let mut r = Reader::new(r.take(length)?);
        let mut transition_s = None;
        if extended {
            r.skip(1)?;
            transition_s = Some(r.u8()?);
            r.skip(2)?;
        }
        let mut groups = Vec::new();
        while r.remaining() > 0 && groups.len() < MOST {
            let (state, states, number) = (r.u8()?, r.u8()?, r.u16_be()?);
            r.skip(3)?;
            let mut ports = Vec::new();
            for _ in 0..r.u8()? {
                r.skip(2)?;
                ports.push(r.u16_be()?);
            }
            groups.push(PortGroup {
                preferred: state & 0x80 != 0,
                state: state & 0xf,
                states,
                number,
                ports,
            });
        }
        Ok(Self { transition_s, groups })
    }
}

/// Identifying information for people, SPC-4 6.30.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdentifyingInformation<'a>(pub &'a [u8]);

impl<'a> IdentifyingInformation<'a> {
    /// The bytes.
    pub fn encode(&self, w: &mut Writer) {
        w.u16_be(0);
        w.u16_be(u16::try_from(self.0.len()).unwrap_or(u16::MAX));
        w.put(self.0.get(..usize::from(u16::MAX)).unwrap_or(self.0));
    }

    /// From the bytes.
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        r.skip(2)?;
        let length = r.u16_be()?;
        Ok(Self(r.take(usize::from(length))?))
    }
}
