use wire::{Malformed, Reader, Writer};

use super::head::{Lun, Opcode, begin, open};
use super::numbers::Numbers;

/// The task management function, RFC 7143 11.5.1 and RFC 7144 4.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function(pub u8);

#[allow(missing_docs, reason = "named as in RFC 7143 11.5.1")]
impl Function {
    pub const ABORT_TASK: Self = Self(1);
    pub const ABORT_TASK_SET: Self = Self(2);
    pub const CLEAR_ACA: Self = Self(3);
    pub const CLEAR_TASK_SET: Self = Self(4);
    pub const LOGICAL_UNIT_RESET: Self = Self(5);
    pub const TARGET_WARM_RESET: Self = Self(6);
    pub const TARGET_COLD_RESET: Self = Self(7);
    pub const TASK_REASSIGN: Self = Self(8);
    pub const QUERY_TASK: Self = Self(9);
    pub const QUERY_TASK_SET: Self = Self(10);
    pub const I_T_NEXUS_RESET: Self = Self(11);
    pub const QUERY_ASYNC_EVENT: Self = Self(12);
}

/// The result, RFC 7143 11.6.1 and RFC 7144 4.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionResult(pub u8);

#[allow(missing_docs, reason = "named as in RFC 7143 11.6.1")]
impl FunctionResult {
    pub const COMPLETE: Self = Self(0);
    pub const NO_SUCH_TASK: Self = Self(1);
    pub const NO_SUCH_LUN: Self = Self(2);
    pub const STILL_ALLEGIANT: Self = Self(3);
    pub const REASSIGN_NOT_SUPPORTED: Self = Self(4);
    pub const NOT_SUPPORTED: Self = Self(5);
    pub const NOT_AUTHORIZED: Self = Self(6);
    pub const SUCCEEDED: Self = Self(7);
    pub const REJECTED: Self = Self(255);
}

/// Task Management Function Request, RFC 7143 11.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in RFC 7143")]
pub struct TaskRequest {
    pub immediate: bool,
    pub function: Function,
    pub lun: Lun,
    pub task_tag: u32,
    pub referenced_tag: u32,
    pub cmd_sn: u32,
    pub exp_stat_sn: u32,
    pub ref_cmd_sn: u32,
    pub exp_data_sn: u32,
}

impl TaskRequest {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (immediate, [flags, ..]) = open(r)?;
        let (lun, task_tag, referenced_tag) = (Lun(r.array()?), r.u32_be()?, r.u32_be()?);
        let (cmd_sn, exp_stat_sn) = (r.u32_be()?, r.u32_be()?);
        let (ref_cmd_sn, exp_data_sn) = (r.u32_be()?, r.u32_be()?);
        r.skip(8)?;
        let function = Function(flags & 0x7f);
        Ok(Self {
            immediate,
            function,
            lun,
            task_tag,
            referenced_tag,
            cmd_sn,
            exp_stat_sn,
            ref_cmd_sn,
            exp_data_sn,
        })
    }

    /// Writes the header.
    pub fn encode(&self, w: &mut Writer) {
        let immediate = if self.immediate { 0x40 } else { 0 };
        begin(w, Opcode(Opcode::TASK_REQUEST.0 | immediate), [0x80 | self.function.0, 0, 0], 0);
        w.put(&self.lun.0);
        w.u32_be(self.task_tag);
        w.u32_be(self.referenced_tag);
        w.u32_be(self.cmd_sn);
        w.u32_be(self.exp_stat_sn);
        w.u32_be(self.ref_cmd_sn);
        w.u32_be(self.exp_data_sn);
        w.zeros(8);
    }
}

/// Task Management Function Response, RFC 7143 11.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in RFC 7143")]
pub struct TaskResponse {
    pub result: FunctionResult,
    pub task_tag: u32,
}

impl TaskResponse {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<(Self, Numbers), Malformed> {
        let (_, [_, result, _]) = open(r)?;
        r.skip(8)?;
        let task_tag = r.u32_be()?;
        r.skip(4)?;
        let numbers = Numbers::decode(r)?;
        r.skip(12)?;
        Ok((Self { result: FunctionResult(result), task_tag }, numbers))
    }

    /// Writes the header, without numbers.
    pub fn encode(&self, w: &mut Writer) {
        begin(w, Opcode::TASK_RESPONSE, [0x80, self.result.0, 0], 0);
        w.zeros(8);
        w.u32_be(self.task_tag);
        w.zeros(28); // and numbers
    }
}
